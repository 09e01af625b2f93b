"""The intermediate representation: spaces as decision trees, their configurations, requests and trials."""
