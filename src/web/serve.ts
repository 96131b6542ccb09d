import type { Project } from '../store/project.ts';
import { answerRequest, type Site } from './answer-request.ts';
import { loadKey } from './http/key.ts';
import { isFromOwnUser } from './http/peer.ts';
import { inUrl, servedNames } from './http/served-names.ts';
import { openServer, type ServerOptions } from './http/server.ts';
import { createSignIn, type SignInClient } from './http/sign-in.ts';
import { loadStaticFiles } from './http/static-files.ts';
import type { RemoteRuns } from './remote.ts';
import { createRoutes } from './routes.ts';

export interface WebOptions extends ServerOptions {
  readonly project: Project;
  readonly env: NodeJS.ProcessEnv;
  readonly readOnly: boolean;
  /** Where a reverse proxy serves the page. */
  readonly publicUrl: URL | null;
  /** The runs on other machines; null without a queue. */
  readonly remote: RemoteRuns | null;
}

export interface WebServer {
  /** The address with the token. */
  readonly url: string;
  /** The address for a browser that another program starts: other users can see the arguments of a program. */
  oneTimeUrl(): string;
  readonly port: number;
  /** Ends all streams and frees the port. */
  close(): Promise<void>;
}

/** Serves the page and its API until it is closed. Throws if the port is in use. */
export const startWeb = async (options: WebOptions): Promise<WebServer> => {
  const { project, env, host, readOnly, publicUrl, tls, remote } = options;
  const { routes, toJson, close } = createRoutes({ project, env, readOnly, remote });
  const files = loadStaticFiles();
  const server = await openServer(options);
  const { port, strangers } = server;
  const isSecure = tls !== null;
  const signIn = createSignIn({ key: loadKey(project, env), port });
  const site: Site = {
    names: servedNames({ host, port, isSecure, publicUrl }),
    signIn,
    routes,
    files,
    onSignedIn: strangers.signedIn,
  };
  server.onRequest((request, response) => {
    const isHead = request.method === 'HEAD';
    const acceptsGzip = /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
    const client: SignInClient = {
      isSecure: isSecure || publicUrl?.protocol === 'https:',
      // A proxy runs as another user.
      isFromOwnUser: () => publicUrl !== null || isFromOwnUser(request.socket),
    };
    void answerRequest(site, { request, client, reply: { response, isHead, acceptsGzip, toJson } });
  });
  const base = publicUrl?.origin ?? `${isSecure ? 'https' : 'http'}://${inUrl(server.ownAddress)}:${port}`;
  return {
    url: `${base}/?token=${signIn.token}`,
    oneTimeUrl: () => `${base}/?token=${signIn.oneTimeToken()}`,
    port,
    close: async () => {
      close();
      await server.close();
    },
  };
};
