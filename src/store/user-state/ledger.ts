import { createFolder } from '../../files/folders.ts';
import { readJson } from '../../files/read.ts';
import { replaceSafely } from '../../files/safe.ts';
import { boundLedger } from '../../ralph/ledger-bounds.ts';
import type { Ledger } from '../../ralph/proof.ts';
import type { ChangeRef } from '../change-ref.ts';
import { parseLedger } from '../ledger-format.ts';
import { ledgerFile } from '../paths.ts';
import { userStateFolder } from './folder.ts';

/*
 * The ledger of a change. It is in the user's state folder because agents and clones can write to the project. A new run,
 * `--fresh` and the archive leave it as it is: only a gate replaces it, here or on a worker, and a landing that proves the
 * scenarios again.
 */

/** Returns the ledger of the last gate; null if there is none, or if it cannot be read. */
export const readLedger = ({ project, change, env }: ChangeRef): Ledger | null => {
  const ledger = parseLedger(readJson(ledgerFile(userStateFolder(project, change, env))));
  return ledger?.change === change ? ledger : null;
};

/** Replaces the ledger. Long texts and lists are shortened. */
export const saveLedger = ({ project, change, env }: ChangeRef, ledger: Ledger): void => {
  const folder = userStateFolder(project, change, env);
  createFolder(folder);
  replaceSafely(ledgerFile(folder), `${JSON.stringify(boundLedger(ledger))}\n`);
};

/** Replaces the ledger with that of a worker, unless this machine has checked the same run, or a later one, itself. */
export const adoptLedger = (of: ChangeRef, sent: Ledger): void => {
  const own = readLedger(of);
  const isOwn = own !== null && own.worker === undefined;
  // Run ids sort by time.
  if (!isOwn || own.run < sent.run) saveLedger(of, sent);
};
