import { homeOf } from '../../files/home.ts';
import { childEnvironment } from '../../process/environment.ts';
import { allowedEnvironment } from '../../process/scope.ts';
import { describeEnd, runWithTail, type ShellResult } from '../../process/shell.ts';
import { trustedProgram, untrustedAround, withTrustedPath } from '../../process/trusted-path.ts';
import type { NotifyMessage } from './message.ts';
import type { NotifyContext, Send } from './notify.ts';

const maxMs = 10_000;

/**
 * The program that shows a notification, and its arguments. Texts are arguments or variables, never part of a script.
 */
interface Program {
  readonly name: string;
  readonly args: (message: NotifyMessage) => readonly string[];
}

const appleScript = 'on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run';

const balloon = `
Add-Type -AssemblyName System.Windows.Forms
$icon = New-Object System.Windows.Forms.NotifyIcon
$icon.Icon = [System.Drawing.SystemIcons]::Information
$icon.Visible = $true
$icon.ShowBalloonTip(10000, $env:SPOOL_TITLE, $env:SPOOL_TEXT, 'Info')
Start-Sleep -Seconds 5
$icon.Dispose()`;

const programs: Readonly<Partial<Record<NodeJS.Platform, Program>>> = {
  darwin: { name: 'osascript', args: ({ title, text }) => ['-e', appleScript, title, text] },
  win32: { name: 'powershell', args: () => ['-NoProfile', '-NonInteractive', '-Command', balloon] },
};

const notifySend: Program = {
  name: 'notify-send',
  args: ({ title, text }) => ['--app-name=Spool', '--', title, text],
};

export const createDesktopSender = ({ project, env, redactor }: NotifyContext): Send => {
  const { name, args } = programs[process.platform] ?? notifySend;
  const untrusted = untrustedAround(project.root);
  const binary = trustedProgram(name, env.PATH ?? '', untrusted);
  return async (message, { stop, tag }) => {
    if (binary === null) return { problem: `${name} is not installed` };
    const { title, text } = message;
    const passed = withTrustedPath(childEnvironment(allowedEnvironment(env)), untrusted);
    const result = await runWithTail({
      binary,
      args: args(message),
      cwd: homeOf(env),
      env: { ...passed, SPOOL_TITLE: title, SPOOL_TEXT: text },
      tag,
      stdin: '',
      logFile: null,
      redactor,
      timeoutMs: maxMs,
      stopGraceMs: 1000,
      stopSignals: { stop, kill: stop },
    });
    return { problem: problemOf(name, result), output: result.tail };
  };
};

const problemOf = (name: string, result: ShellResult): string | null => {
  if (result.outcome === 'passed') return null;
  return result.outcome === 'failed' ? `${name} failed (${describeEnd(result)})` : `${name} did not end in time`;
};
