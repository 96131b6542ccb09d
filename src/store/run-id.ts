/** The start time and a random part: `20261116-121856-20d0ac72`. Safe as the name of a folder. */
export const runId = /^\d{8}-\d{6}-[\da-f]{4,32}$/;
