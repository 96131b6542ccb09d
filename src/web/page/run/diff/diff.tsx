import { useEffect, useRef, useState } from 'preact/hooks';
import type { DiffFile, DiffSummary, FileDiffDetail } from '../../../api.ts';
import { pluralise } from '../../../../text/duration.ts';
import { Lines } from '../../parts/figures.tsx';
import { Failure, Loading } from '../../parts/notice.tsx';
import { useLoaded } from '../../state/load.ts';
import { Hunks, type DiffStyle } from './hunks.tsx';

const styleKey = 'spool-diff';

const savedStyle = (): DiffStyle => {
  try {
    return localStorage.getItem(styleKey) === 'split' ? 'split' : 'unified';
  } catch {
    return 'unified';
  }
};

/** A larger diff is read when it is asked for. */
const openLines = 400;
const openFiles = 30;

/** Of an iteration, against the state before it, or between two checkpoints. */
export type DiffRange = { readonly iteration: number } | { readonly from: string; readonly to: string };

/** What has changed in a run. */
export const Diff = ({ path, range: of }: { readonly path: string; readonly range: DiffRange }) => {
  const [style, setStyle] = useState(savedStyle);
  const range =
    'iteration' in of
      ? `iteration=${of.iteration}`
      : `from=${encodeURIComponent(of.from)}&to=${encodeURIComponent(of.to)}`;
  const loaded = useLoaded<DiffSummary>(`${path}/diff?${range}`);
  if (loaded.state === 'loading') return <Loading what="Comparing" />;
  if (loaded.state === 'failed') return <Failure problem={loaded.problem} />;
  const { files, filesChanged, insertions, deletions, filesLeftOut } = loaded.value;
  const choose = (next: DiffStyle) => {
    setStyle(next);
    try {
      localStorage.setItem(styleKey, next);
    } catch {
      // It then applies to this diff only.
    }
  };
  if (files.length === 0) return <p class="empty">Nothing has changed.</p>;
  return (
    <div class="diff scroll">
      <div class="diff-tools">
        <span class="number">
          {pluralise(filesChanged, 'file')} <Lines insertions={insertions} deletions={deletions} />
        </span>
        <div class="segments" role="group" aria-label="Layout of the diff">
          {(['unified', 'split'] as const).map((name) => (
            <button key={name} type="button" aria-pressed={style === name} onClick={() => choose(name)}>
              {name === 'split' ? 'Side by side' : 'Unified'}
            </button>
          ))}
        </div>
      </div>
      {files.length > 1 && <FileList files={files} />}
      {files.map((file, index) => (
        <File
          key={file.path}
          id={`file-${index}`}
          file={file}
          path={`${path}/diff/file?${range}&path=${encodeURIComponent(file.path)}`}
          style={style}
          isOpenFirst={index < openFiles && file.insertions + file.deletions <= openLines}
        />
      ))}
      {filesLeftOut > 0 && <p class="hint">{pluralise(filesLeftOut, 'more file')} not listed.</p>}
    </div>
  );
};

const marks: Record<DiffFile['status'], string> = { added: 'A', modified: 'M', deleted: 'D', renamed: 'R' };

const Mark = ({ status }: Pick<DiffFile, 'status'>) => (
  <span class={`mark-${status}`} title={status}>
    <span aria-hidden="true">{marks[status]}</span>
    <span class="visually-hidden">{status}</span>
  </span>
);

const FileList = ({ files }: { readonly files: readonly DiffFile[] }) => {
  const jump = (index: number) => {
    const file = document.querySelector<HTMLDetailsElement>(`#file-${index}`);
    if (!file) return;
    file.open = true;
    file.scrollIntoView({ block: 'start' });
    file.querySelector('summary')?.focus({ preventScroll: true });
  };
  return (
    <details class="file-list" open={files.length <= 12}>
      <summary>Files</summary>
      <ul>
        {files.map((file, index) => (
          <li key={file.path}>
            <button type="button" class="file-link" onClick={() => jump(index)}>
              <Mark status={file.status} />
              <bdi class="path" dir="ltr">
                {file.path}
              </bdi>
              {file.binary ? <span class="quiet">binary</span> : <Lines {...file} />}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
};

const File = ({
  id,
  file,
  path,
  style,
  isOpenFirst,
}: {
  readonly id: string;
  readonly file: DiffFile;
  readonly path: string;
  readonly style: DiffStyle;
  readonly isOpenFirst: boolean;
}) => {
  const [isOpen, setOpen] = useState(isOpenFirst);
  const element = useRef<HTMLDetailsElement>(null);
  const isNear = useNear(element);
  return (
    <details
      ref={element}
      id={id}
      class="file"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <Mark status={file.status} />
        <bdi class="path">
          {file.from !== null && <span class="quiet">{file.from} → </span>}
          {file.path}
        </bdi>
        {file.binary ? <span class="quiet">binary</span> : <Lines {...file} />}
      </summary>
      {isOpen && isNear && <FileDiff file={file} path={path} style={style} />}
    </details>
  );
};

/** Whether an element is, or was, close to what is visible. */
const useNear = (element: { readonly current: Element | null }): boolean => {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: '600px',
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return isNear;
};

const FileDiff = ({
  file,
  path,
  style,
}: {
  readonly file: DiffFile;
  readonly path: string;
  readonly style: DiffStyle;
}) => {
  const loaded = useLoaded<FileDiffDetail>(file.binary ? null : path);
  if (file.binary) return <p class="empty">A binary file.</p>;
  if (loaded.state === 'loading') return <Loading />;
  if (loaded.state === 'failed') return <Failure problem={loaded.problem} />;
  if (loaded.value.hunks.length === 0) return <p class="empty">No lines have changed.</p>;
  return (
    <>
      <Hunks hunks={loaded.value.hunks} style={style} language={file.path} />
      {loaded.value.isCut && <p class="hint">The rest of this diff is left out: it is too long.</p>}
    </>
  );
};
