import { useRef } from 'preact/hooks';
import { grouped } from '../../../ralph/usage.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { pieceSize, useTextPieces } from './text-pieces.ts';

/** A text file of any size. Only the pieces around the place that is read are loaded; the slider goes anywhere. */
export const TextFile = ({
  base,
  name,
  isGrowing,
}: {
  readonly base: string;
  readonly name: string;
  readonly isGrowing: boolean;
}) => {
  const box = useRef<HTMLDivElement>(null);
  const { pieces, size, problem, jump, onScroll } = useTextPieces(base, isGrowing, box);
  const [first, last] = [pieces[0], pieces.at(-1)];
  if (first === undefined || last === undefined)
    return problem === null ? <Loading what={`Loading the ${name}`} /> : <Failure problem={problem} />;
  const isWhole = first.offset === 0 && last.nextOffset >= size;
  return (
    <>
      <div class="text-tools">
        <span class="quiet number">{bytes(size)}</span>
        {!isWhole && (
          <>
            <button type="button" class="small" onClick={() => void jump(0, 'start')}>
              Start
            </button>
            <input
              type="range"
              min={0}
              max={size}
              step={pieceSize}
              value={first.offset}
              aria-label={`Position in the ${name}`}
              aria-valuetext={`${bytes(first.offset)} of ${bytes(size)}`}
              onChange={({ currentTarget }) => void jump(Number(currentTarget.value), 'start')}
            />
            <button type="button" class="small" onClick={() => void jump('end', 'end')}>
              End
            </button>
          </>
        )}
      </div>
      <div ref={box} class="scroll text-file" tabIndex={0} role="region" aria-label={name} onScroll={onScroll}>
        {size === 0 ? (
          <p class="empty">{isGrowing ? 'Nothing yet.' : 'It is empty.'}</p>
        ) : (
          <pre>
            {pieces.map((piece) => (
              <span key={piece.offset}>{piece.text}</span>
            ))}
          </pre>
        )}
      </div>
    </>
  );
};

const bytes = (count: number): string => {
  if (count < 10_000) return `${grouped(count)} bytes`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(0)} KB` : `${(count / 1_000_000).toFixed(1)} MB`;
};
