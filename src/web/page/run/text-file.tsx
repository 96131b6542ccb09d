import { useRef } from 'preact/hooks';
import { grouped } from '../../../ralph/usage.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { pieceSize, type TextPieces, useTextPieces } from './text-pieces.ts';

export interface TextFileProps {
  /** The address of the file in the API. */
  readonly base: string;
  /** What it is, such as `log`. */
  readonly name: string;
  readonly isGrowing: boolean;
}

/** A text file of any size. Only the pieces around the position of the reader are loaded. */
export const TextFile = ({ base, name, isGrowing }: TextFileProps) => {
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
        {!isWhole && <Position name={name} offset={first.offset} size={size} jump={jump} />}
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

interface PositionProps extends Pick<TextPieces, 'size' | 'jump'> {
  readonly name: string;
  /** Where the text that is shown starts. */
  readonly offset: number;
}

/** Goes to any place in a file that is too long to be loaded. */
const Position = ({ name, offset, size, jump }: PositionProps) => (
  <>
    <button type="button" class="small" onClick={() => void jump(0, 'start')}>
      Start
    </button>
    <input
      type="range"
      min={0}
      max={size}
      step={pieceSize}
      value={offset}
      aria-label={`Position in the ${name}`}
      aria-valuetext={`${bytes(offset)} of ${bytes(size)}`}
      onChange={({ currentTarget }) => void jump(Number(currentTarget.value), 'start')}
    />
    <button type="button" class="small" onClick={() => void jump('end', 'end')}>
      End
    </button>
  </>
);

const bytes = (count: number): string => {
  if (count < 10_000) return `${grouped(count)} bytes`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(0)} KB` : `${(count / 1_000_000).toFixed(1)} MB`;
};
