import type { Redactor } from '../../secrets/redact.ts';
import type { Settlement } from '../claims.ts';
import type { Clone } from '../clone.ts';
import type { HeldFence } from '../fence.ts';
import { mirrorRun } from '../mirror-run.ts';
import { createPublisher } from '../publisher.ts';
import { repeat } from '../repeat.ts';
import type { Bookings } from './bookings.ts';
import type { AttemptContext } from './context.ts';
import { createPublishing } from './publishing.ts';
import { createRequests, type Requests } from './requests.ts';
import { runChange } from './run-change.ts';
import { settlementOf, withoutSecrets } from './settling.ts';

export interface RunInClone {
  readonly clone: Clone;
  readonly fence: HeldFence;
  readonly bookings: Bookings;
  readonly redactor: Redactor;
  /** Called before the run starts. */
  readonly onRequests: (requests: Requests) => void;
}

export interface EndedRun {
  readonly settlement: Settlement;
  /** The last state is on the remote. */
  readonly isPublished: boolean;
}

/** How often events are copied into the database. */
const copyMs = 500;
/** How often the inbox is read without a notification. */
const inboxMs = 5000;

/** Runs the change in its clone, and keeps the database and the remote up to date. Returns null if the claim is lost. */
export const runAndPublish = async (
  context: AttemptContext,
  { clone, fence, bookings, redactor, onRequests }: RunInClone,
): Promise<EndedRun | null> => {
  const { database, stopping } = context;
  const held = context.held();
  const publishing = createPublishing(context, createPublisher({ ...context, clone, held: fence }));
  const requests = createRequests({ ...context, held, clone, applied: fence.data.inbox }, stopping);
  onRequests(requests);
  const mirror = mirrorRun(database, held, clone);
  // Tells the events of earlier owners apart from those of this one.
  await mirror.copy().catch(() => {});
  const copy = async () => {
    if (!(await mirror.copy())) stopping.lose('another worker has taken it');
  };
  const [copying, reading] = [repeat(copy, { everyMs: copyMs }), repeat(requests.read, { everyMs: inboxMs })];
  const stopBoth = () => Promise.all([copying.stop(), reading.stop()]);
  try {
    const result = await runChange(context, { clone, work: fence.data.work, publishing, requests, bookings });
    await stopBoth();
    await mirror.copy().catch(() => {});
    if (stopping.isLost()) return null;
    const own = settlementOf(result, { cut: stopping.cut(), wantsPause: requests.wantsPause() });
    const settlement = withoutSecrets(own, redactor);
    const ifUnpushed = await publishing.publishLast({ inbox: requests.applied(), settlement });
    return { settlement: ifUnpushed ?? settlement, isPublished: ifUnpushed === null };
  } finally {
    await stopBoth();
    mirror.close();
  }
};
