/** Resolves when the check returns true. A failure counts as false. Throws after a minute. */
export async function until(check: () => Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(60_000);
  let reason: unknown = "it returned false";
  while (!limit.aborted) {
    try {
      if (await check()) return;
    } catch (error) {
      reason = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`A process is not ready after a minute: ${reason}`);
}
