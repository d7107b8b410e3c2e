"""Pages that open offline: what the reports in HTML of `validate` and `audit` have in common, and their pictures."""
