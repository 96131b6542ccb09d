import { ReportProblem } from './report.ts';

/** The text of a report, in the encoding that its first bytes tell. Invalid characters are replaced. */
export const decodeReport = (bytes: Buffer): string => {
  const label = encodingOf(bytes);
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    throw new ReportProblem(`has an unknown encoding (${label.slice(0, 40)})`);
  }
};

const encodingOf = (bytes: Buffer): string => {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== undefined && second !== 0)) return 'utf-16be';
  const start = bytes.subarray(0, 200).toString('latin1');
  return /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']{1,40})["']/.exec(start)?.[1] ?? 'utf-8';
};
