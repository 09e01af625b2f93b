"""Codings: a domain, a configuration, many of them as columns of numbers, and the way back.

Every number is a float, so that whoever searches may move between integers and between the places of a set.
"""
