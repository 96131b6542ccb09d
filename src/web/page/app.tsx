import { useLayoutEffect, useRef } from 'preact/hooks';
import { Overview } from './overview/overview.tsx';
import { Announcer } from './parts/announce.tsx';
import { KeyHelp } from './parts/keys.tsx';
import { ThemeSwitch } from './parts/theme.tsx';
import { overviewHref, type Route, useRoute } from './route.ts';
import { Run } from './run/run.tsx';
import { useProject } from './state/overview.ts';
import { useStore } from './state/store.ts';
import { connection } from './state/stream.ts';

export const App = () => {
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  useViewFocus(route, main);
  const skip = (event: Event) => {
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a class="skip-link" href="#main" onClick={skip}>
        Skip to content
      </a>
      <Header />
      <main id="main" ref={main} tabIndex={-1}>
        <SignedOut />
        {route.view === 'overview' ? (
          <Overview route={route} />
        ) : (
          <Run key={`${route.change}/${route.run}`} route={route} />
        )}
      </main>
      <Announcer />
    </>
  );
};

/** The focus moves with the view, as on a page that is loaded: back on the overview, to the change that was shown. */
const useViewFocus = (route: Route, main: { readonly current: HTMLElement | null }): void => {
  const shown = route.view === 'run' ? route.change : null;
  const before = useRef<string | null | undefined>(undefined);
  // Together with the view: an effect after the paint would take the focus from what was pressed since.
  useLayoutEffect(() => {
    const last = before.current;
    before.current = shown;
    if (last === undefined || last === shown) return;
    const link = shown === null && last !== null ? document.getElementById(`change-${last}`) : null;
    if (link !== null) return link.focus();
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [shown]);
};

const Header = () => {
  const project = useProject();
  return (
    <header class="top">
      <a class="brand" href={overviewHref({ filter: '', group: null })}>
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <circle cx="10" cy="10" r="8" fill="none" stroke="currentColor" stroke-width="2.4" />
          <circle cx="10" cy="10" r="3" fill="none" stroke="currentColor" stroke-width="2.4" />
        </svg>
        Spool
      </a>
      {project && (
        <span class="project" title={project.project.root}>
          <span class="project-name">{project.project.name}</span>
          {project.project.branch !== null && <code class="branch">{project.project.branch}</code>}
        </span>
      )}
      <span class="grow" />
      {project?.readOnly && (
        <span class="chip" title="spool web was started with --read-only: runs can be watched, not steered">
          Read-only
        </span>
      )}
      <ConnectionState />
      <KeyHelp />
      <ThemeSwitch />
    </header>
  );
};

const words = { connecting: 'Connecting', live: 'Live', reconnecting: 'Reconnecting', 'signed-out': 'Signed out' };

const ConnectionState = () => {
  const state = useStore(connection);
  return (
    <span
      class={`connection is-${state}`}
      role="status"
      title={state === 'live' ? 'Updates arrive as they happen' : ''}
    >
      <span class="pulse" aria-hidden="true" />
      {words[state]}
    </span>
  );
};

const SignedOut = () =>
  useStore(connection) === 'signed-out' ? (
    <p class="notice tone-warn" role="alert">
      You are signed out. To sign in, open the URL that <code>spool web</code> printed when it started.
    </p>
  ) : null;
