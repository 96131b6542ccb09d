import type { ChangeSource } from '../source.ts';
import { spoolTree } from '../spool/source.ts';

/** `.ito/changes/<NNN-NN_slug>/`: the same tree as Spool's, which Ito continues under another name. */
export const itoSource = (base: string): ChangeSource => spoolTree('ito', base);
