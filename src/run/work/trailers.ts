const name = 'Scenarios';

/** Adds the trailer `Scenarios: …` to a commit message, or replaces the one that ends it. */
export const withScenariosTrailer = (message: string, value: string): string => {
  const lines = message.trimEnd().split('\n');
  const isOwn = (line: string | undefined) => line?.startsWith(`${name}: `) ?? false;
  // The subject is no trailer, even if it looks like one.
  const others = lines.length > 1 && isOwn(lines.at(-1)) ? lines.slice(0, -1).join('\n').trimEnd().split('\n') : lines;
  const separator = endsWithTrailers(others) ? [] : [''];
  return `${[...others, ...separator, `${name}: ${value}`].join('\n')}\n`;
};

/** Whether the second message is the first with such a trailer added. */
export const differsByTrailer = (before: string, after: string): boolean => {
  const [, value] = /\nScenarios: (.*)\n$/.exec(after) ?? [];
  return value !== undefined && withScenariosTrailer(before, value) === after;
};

/** Whether the last paragraph of a message, which is not the subject, has only trailers. */
const endsWithTrailers = (lines: readonly string[]): boolean => {
  const start = lines.findLastIndex((line) => line.trim() === '') + 1;
  return start > 1 && lines.slice(start).every((line) => /^[A-Za-z0-9-]{1,100}: \S/.test(line));
};
