/** The start time and a random part: `20261116-121856-20d0ac72`. Safe as the name of a folder. */
export const runId = /^\d{8}-\d{6}-[\da-f]{4,32}$/;

/** Returns an id that sorts by time, to the millisecond: `20261115-070312-58101c2d` began at 07:03:12.581. */
export const newRunId = (): string => {
  const [day, time] = new Date().toISOString().replaceAll(/[-:]/g, '').split('T') as [string, string];
  return `${day}-${time.slice(0, 6)}-${time.slice(7, 10)}${crypto.randomUUID().slice(0, 5)}`;
};
