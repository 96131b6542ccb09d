import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows above and below the visible ones. */
const spare = 8;

interface WindowListProps {
  readonly count: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly keyOf: (index: number) => string | number;
  readonly children: (index: number) => ComponentChildren;
  /** Scrolls to this row when it changes. */
  readonly show: number | null;
}

/**
 * A list of which only the visible rows exist. All rows are equally high. Rows that are added at the top do not move
 * what is read, unless the list is at its top.
 */
export const WindowList = ({ count, rowHeight, label, keyOf, children, show }: WindowListProps) => {
  const { list, range, measure } = useWindow({ count, rowHeight, show });
  const last = Math.min(count, range.first + range.rows);
  const indexes = Array.from({ length: Math.max(0, last - range.first) }, (_, index) => range.first + index);
  return (
    <div ref={list} class="window-list" onScroll={measure}>
      <ol aria-label={label} style={{ height: `${count * rowHeight}px` }}>
        {indexes.map((index) => (
          <li
            key={keyOf(index)}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
          >
            {children(index)}
          </li>
        ))}
      </ol>
    </div>
  );
};

/** Which rows are visible. Keeps what is read in its place, and brings a row into view. */
const useWindow = ({ count, rowHeight, show }: Pick<WindowListProps, 'count' | 'rowHeight' | 'show'>) => {
  const list = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ first: 0, rows: 30 });
  const lastCount = useRef(count);

  const measure = () => {
    const element = list.current;
    if (element === null) return;
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - spare);
    const rows = Math.ceil(element.clientHeight / rowHeight) + 2 * spare;
    setRange((last) => (last.first === first && last.rows === rows ? last : { first, rows }));
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (list.current) observer.observe(list.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const added = count - lastCount.current;
    lastCount.current = count;
    const element = list.current;
    if (element !== null && added > 0 && element.scrollTop > 0) element.scrollTop += added * rowHeight;
    measure();
  }, [count]);
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null || show === null) return;
    const top = show * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
  }, [show]);
  return { list, range, measure };
};
