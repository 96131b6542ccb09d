/** When a run was started, and a random part: `20261116-121856-20d0ac72`. The name of a folder, and of nothing above it. */
export const runId = /^\d{8}-\d{6}-[\da-f]{4,32}$/;
