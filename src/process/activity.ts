import { basename } from 'node:path';
import { psOutput } from './ps.ts';
import { processIds } from './tree.ts';
import { readProc, statOf } from './start-time.ts';

/**
 * Returns a text that changes when a process of the group computes, reads or writes. Returns null if one of them waits
 * for a disk, if one has another name than `name`, or if the system does not tell.
 */
export const groupActivity = (group: number, name: string): string | null => {
  if (process.platform === 'win32') return null;
  const members = process.platform === 'linux' ? membersInProc(group) : membersInPs(group);
  const isWaiting = members.length > 0 && members.every((each) => each.name === name && !each.state.startsWith('D'));
  return isWaiting ? members.map(({ work }) => work).join('\n') : null;
};

interface Member {
  readonly name: string;
  readonly state: string;
  readonly work: string;
}

const membersInProc = (group: number): Member[] =>
  processIds().flatMap((pid) => {
    const fields = statOf(pid);
    if (fields === null || Number(fields[2]) !== group) return [];
    // The time in user and in kernel mode, in hundredths of a second.
    const time = `${fields[11]} ${fields[12]}`;
    const bytes = /^rchar: \d+\nwchar: \d+/.exec(readProc(`/proc/${pid}/io`) ?? '')?.[0] ?? '';
    return [{ name: readProc(`/proc/${pid}/comm`)?.trim() ?? '', state: fields[0]!, work: `${pid} ${time} ${bytes}` }];
  });

const membersInPs = (group: number): Member[] => {
  const lines = psOutput('-A', '-o', 'pgid=,pid=,state=,time=,comm=')?.split('\n') ?? [];
  return lines.flatMap((line) => {
    const [owner, pid, state = '', time, ...command] = line.trim().split(/\s+/);
    if (Number(owner) !== group) return [];
    return [{ name: basename(command.join(' ')), state: state.replace('U', 'D'), work: `${pid} ${time}` }];
  });
};
