/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * Calls `next` at once with a value, and later with a promise's: awaiting a value that may be no
 * promise costs turns of the queue.
 */
export function then<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Returns what `work` gives, or, where it throws or rejects, what `recover` makes of the error. */
export function recovered<T>(
  work: () => MaybePromise<T>,
  recover: (error: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/** What a function of the deployer gave: every thenable counts as a promise, as for `await`. */
export function awaitable<T>(value: T | PromiseLike<T>): MaybePromise<T> {
  const isThenable = typeof value === "object" && value !== null && "then" in value;
  return isThenable ? Promise.resolve(value) : value;
}
