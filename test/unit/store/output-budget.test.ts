import { expect, test } from 'vitest';
import { createOutputBudget, maxAgentText } from '../../../src/store/output-budget.ts';

const kb = 1024;

const createClock = () => {
  let now = 0;
  return { nowMs: () => now, pass: (seconds: number) => void (now += seconds * 1000) };
};

test('an iteration may add a limited amount at once', () => {
  const budget = createOutputBudget(createClock().nowMs);
  expect(budget.mayWrite()).toBe(true);
  budget.use(maxAgentText - 1);
  expect(budget.mayWrite()).toBe(true);
  budget.use(1);
  expect(budget.mayWrite()).toBe(false);
});

test('after that it may add some more every few seconds', () => {
  const { nowMs, pass } = createClock();
  const budget = createOutputBudget(nowMs);
  budget.use(maxAgentText);
  expect(budget.mayWrite()).toBe(false);
  pass(3);
  expect(budget.mayWrite()).toBe(false);
  pass(1);
  expect(budget.mayWrite()).toBe(true);
  budget.use(15 * kb);
  expect(budget.mayWrite()).toBe(true);
  budget.use(1 * kb);
  expect(budget.mayWrite()).toBe(false);
});

test('an agent that prints little never reaches the limit, and saves nothing up for a flood', () => {
  const { nowMs, pass } = createClock();
  const budget = createOutputBudget(nowMs);
  for (let second = 0; second < 3600; second++) {
    pass(1);
    budget.use(2 * kb);
    expect(budget.mayWrite()).toBe(true);
  }
  budget.use(maxAgentText);
  expect(budget.mayWrite()).toBe(false);
});

test('the next iteration begins with all of it', () => {
  const budget = createOutputBudget(createClock().nowMs);
  budget.use(2 * maxAgentText);
  expect(budget.mayWrite()).toBe(false);
  budget.reset();
  expect(budget.mayWrite()).toBe(true);
  budget.use(maxAgentText - 1);
  expect(budget.mayWrite()).toBe(true);
});
