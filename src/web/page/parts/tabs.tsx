import type { ComponentChildren } from 'preact';

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly href: string;
  /** Shown behind the label. */
  readonly count?: ComponentChildren;
}

/** Links among which one is current: each tab has an address of its own. */
export const Tabs = <Name extends string>({
  tabs,
  current,
  label,
}: {
  readonly tabs: readonly Tab<Name>[];
  readonly current: Name;
  readonly label: string;
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ name, label: text, href, count }) => (
      <a key={name} href={href} aria-current={name === current ? 'page' : undefined}>
        {text}
        {count != null && <span class="count">{count}</span>}
      </a>
    ))}
  </nav>
);
