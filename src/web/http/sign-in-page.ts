/** What a browser without the cookie gets. It has no style or script, so that the policy needs no exception for it. */
export const signInPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Spool: not signed in</title>
<h1>Not signed in</h1>
<p>Open the address that <code>spool web</code> has printed in the terminal. It ends in <code>/?token=…</code>, and is
valid until the server ends.</p>
<p>If you have just opened it from a link on another page, <a href="/">try again</a>.</p>
`;
