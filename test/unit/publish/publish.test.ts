import { describe, expect, test } from 'vitest';
import { githubAddress } from '../../../src/publish/github-address.ts';
import { markedBody } from '../../../src/publish/marked-body.ts';

test.each([
  ['https://github.com/acme/shop.git', 'acme/shop'],
  ['https://user:token@github.com/acme/shop', 'acme/shop'],
  ['https://GitHub.com/acme/shop/', 'acme/shop'],
  ['git@github.com:acme/shop.git', 'acme/shop'],
  ['ssh://git@github.com:22/acme/shop.git', 'acme/shop'],
  ['https://git.example.com:8443/acme/shop.name.git', 'git.example.com/acme/shop.name'],
  ['/srv/git/shop.git', null],
  ['../shop.git', null],
  ['file:///srv/shop.git', null],
  ['https://github.com/acme', null],
  ['https://github.com/--repo=x/y', null],
  ['https://github.com/acme/shop/tree/main', null],
  ['ext::sh -c x', null],
])('the address of %s', (url, expected) => {
  expect(githubAddress(url)).toBe(expected);
});

describe('the body of a pull request', () => {
  const part = (text: string) => () => text;
  const first = markedBody(part('one'), null);

  test('has marks around the part of Spool, and replacing it again changes nothing', () => {
    expect(first).toMatch(/^<!-- spool: .* -->\n\none\n\n<!-- spool: end -->\n$/);
    expect(markedBody(part('one'), first)).toBe(first);
    expect(markedBody(part('two'), `Above.\r\n${first}\nBelow.`)).toBe(
      `Above.\n${first.replace('one', 'two')}\nBelow.`,
    );
  });

  test('keeps what people have written if the marks are gone', () => {
    expect(markedBody(part('one'), 'Mine.')).toBe(`Mine.\n\n${first}`);
  });

  test('never is longer than GitHub allows', () => {
    const mine = 'x'.repeat(60_000);
    const body = markedBody((maxLength) => 'y'.repeat(maxLength), mine);
    expect(body).toHaveLength(65_536);
    expect(body.startsWith(mine)).toBe(true);
  });
});
