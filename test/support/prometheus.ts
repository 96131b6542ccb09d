const name = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!\}))?)+\})? (\S+)$/;

/** Parses the text format 0.0.4 of Prometheus. Throws for everything that its specification does not allow. */
export const parseMetrics = (text: string): Map<string, number> => {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  const finished = new Set<string>();
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind !== undefined && !name.test(about)) throw new Error(`not a name: ${line}`);
    if (kind === 'HELP') {
      if (finished.has(about)) throw new Error(`in two groups: ${about}`);
      finished.add(about);
      current = about;
    } else if (kind === 'TYPE') {
      if (current !== about || types.has(about)) throw new Error(`TYPE is not after HELP: ${line}`);
      if (!['counter', 'gauge'].includes(rest)) throw new Error(`unknown type: ${line}`);
      if (rest === 'counter' && !about.endsWith('_total')) throw new Error(`a counter without _total: ${line}`);
      types.set(about, rest);
    } else {
      const [, of, labels = '', value] = sample.exec(line) ?? [];
      if (of === undefined) throw new Error(`not a sample: ${line}`);
      if (of !== current || !types.has(of)) throw new Error(`not below its HELP and TYPE: ${line}`);
      if (!Number.isFinite(Number(value))) throw new Error(`not a number: ${line}`);
      if (values.has(`${of}${labels}`)) throw new Error(`twice: ${line}`);
      values.set(`${of}${labels}`, Number(value));
    }
  }
  return values;
};
