"""The tables of the benchmark, and those that parts of spacelang were tuned on."""

from collections.abc import Mapping
from typing import Final

TABLES: Final = (
    *("adult", "ailerons", "bank_marketing", "churn_modelling", "cpu_act", "fried", "hypothyroid", "jm1"),
    *("jungle_chess", "kr_vs_kp", "mammography", "mv", "nomao", "nursery", "pendigits", "pol", "pollen", "puma32H"),
    *("segment", "wine_quality_rare"),
)
"""The tables that are used by default: 2,000 to 70,000 rows, no two of one group of siblings, none tuned on."""

TUNED_ON: Final[Mapping[str, str]] = {
    "wind": "the default optimizer of spacelang 0.2 was chosen on it",
    "sylvine": "the default optimizer of spacelang 0.2 was chosen on it",
    "bank8FM": "the default optimizer of spacelang 0.2 was chosen on it",
    "telco_churn": "the default optimizer of spacelang 0.2 was chosen on it",
    "elevators": "the brackets of hyperband and bohb for short budgets were made on it",
    "abalone": "the least number of rows of the race of auto was chosen on it",
    "bank32nh": "the least number of rows of the race of auto, and the cost of its model, were chosen on it",
    "cardio": "the rows of the first rung of auto were chosen on it",
    "letter": "the brackets of hyperband and bohb for short budgets were made on it",
}
"""Tables on which a part was tuned or chosen, with the part; they do not count for the headline."""
