/** Lets whatever is ready run. */
export async function macroturns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** Lets what is on its way from a server come. */
export function moment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}

/** Runs `work`; where it waits for something, `meanwhile` runs in the meantime. */
export async function unlessStuck(
  work: () => Promise<void>,
  meanwhile: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const working = work().finally(() => {
    isOver = true;
  });
  for (let turn = 0; turn < maxTurns && !isOver; turn++) await moment();
  if (!isOver) await meanwhile();
  await working;
}

/** Milliseconds, more or less. */
const maxTurns = 30;
