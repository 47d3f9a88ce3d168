"""The same questions over HTTP: analysts ask, curators decide, auditors check; nobody sees a row."""
