"""What agents and their tools do on real issues: measured, not asserted. Figures stand in docs/agents.md."""
