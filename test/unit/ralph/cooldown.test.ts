import { expect, test } from 'vitest';
import { unstatedCooldownMs } from '../../../src/ralph/cooldown.ts';

const cooldown = (retryDelayMs: number, times: number, random = 0.5) =>
  unstatedCooldownMs({ retryDelayMs, times, random: () => random });

test('a cooldown without a stated end doubles each time, within its bounds', () => {
  expect([0, 1, 2].map((times) => cooldown(5000, times))).toEqual([150_000, 300_000, 600_000]);
  expect(cooldown(0, 0)).toBe(100);
  expect(cooldown(5000, 1_000_000)).toBe(30 * 60_000);
});

test('the cooldowns of several loops differ by up to a fifth', () => {
  expect([0, 1].map((random) => cooldown(1000, 0, random))).toEqual([24_000, 36_000]);
});
