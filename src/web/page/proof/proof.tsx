import {
  countText,
  evidenceName,
  groupsOf,
  mainEvidence,
  onWorker,
  provenAt,
  type RequirementGroup,
} from '../../../ralph/proof-rows.ts';
import type { ProofDetail, ScenarioProof } from '../../api.ts';
import { CheckIcon, CrossIcon, EmptyIcon, WarningIcon } from '../parts/icons.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { iterationHref } from '../route.ts';
import { useLoaded } from '../state/load.ts';
import type { RunState } from '../state/run-state.ts';

/** Which scenarios of the change are proven, and by what. */
export const Proof = ({ state: { detail, iterations } }: { readonly state: RunState }) => {
  const { change } = detail.row;
  const version = `${detail.status} ${iterations.length}`;
  const loaded = useLoaded<ProofDetail>(`/changes/${encodeURIComponent(change)}/proof`, version);
  if (loaded.state === 'loading') return <Loading what="Loading the proof" />;
  if (loaded.state === 'failed') return <Failure problem={loaded.problem} />;
  const { scenarios, count, unknown, gate } = loaded.value;
  if (count.total === 0)
    return <p class="empty">The specs of this change have no scenarios, so there is nothing to prove.</p>;
  return (
    <div class="proof">
      <p class="proof-count">
        <strong>{countText(count)}</strong>
        <span class="quiet">
          {gate === null
            ? ' No gate has run yet.'
            : ` Verified in iteration ${gate.iteration} of run ${gate.run}${onWorker(gate.worker)}.`}
        </span>
      </p>
      {groupsOf(scenarios).map((group) => (
        <Group key={group.requirement} group={group} change={change} />
      ))}
      {unknown.length > 0 && (
        <section>
          <h2>IDs in tests that no scenario has</h2>
          <ul>
            {unknown.map(({ id, where }, index) => (
              <li key={index}>
                <code>{id}</code> in {where}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
};

const Group = ({ group, change }: { readonly group: RequirementGroup; readonly change: string }) => {
  const name = group.requirement ?? 'Other scenarios';
  return (
    <section>
      <h2>
        <bdi>{name}</bdi> <span class="count">{`${group.proven}/${group.scenarios.length}`}</span>
      </h2>
      <ul class="scenarios">
        {group.scenarios.map((scenario) => (
          <Scenario key={scenario.id} scenario={scenario} change={change} />
        ))}
      </ul>
    </section>
  );
};

const looks = {
  proven: { tone: 'ok', Icon: CheckIcon },
  failing: { tone: 'bad', Icon: CrossIcon },
  stale: { tone: 'warn', Icon: WarningIcon },
  linked: { tone: 'warn', Icon: EmptyIcon },
  unlinked: { tone: 'warn', Icon: EmptyIcon },
} as const;

const Scenario = ({ scenario, change }: { readonly scenario: ScenarioProof; readonly change: string }) => {
  const { tone, Icon } = looks[scenario.state];
  const evidence = mainEvidence(scenario);
  const { proof } = scenario;
  return (
    <li>
      <span class={`status tone-${tone}`}>
        <Icon /> {scenario.state}
      </span>
      <div>
        <p>
          <bdi>{scenario.title}</bdi>
        </p>
        {scenario.reason !== null && <p class={`tone-${tone}`}>{scenario.reason}</p>}
        {evidence !== null && (
          <p class="quiet">
            <code>{evidenceName(evidence)}</code>
            {evidence.test !== null && (
              <>
                {' in '}
                <code>{evidence.command}</code>
              </>
            )}
          </p>
        )}
        {proof !== null && (
          <p class="quiet">
            Proven in{' '}
            <a
              href={iterationHref({ change, run: proof.run }, proof.iteration, 'gate')}
            >{`iteration ${proof.iteration}`}</a>
            {onWorker(proof.worker)}
            {provenAt(scenario) !== '' && (
              <>
                {' at '}
                <code>{provenAt(scenario)}</code>
              </>
            )}
          </p>
        )}
        <p class="quiet">
          <code>{scenario.id}</code>
        </p>
      </div>
    </li>
  );
};
