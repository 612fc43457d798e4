/** A value, or a promise of the value. */
export type MaybePromise<T> = T | Promise<T>;

/** Calls `next` with the value, immediately or after the promise resolves. `await` is slower. */
export function chain<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

export function catching<T>(
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

/** Converts the result of application code to a {@link MaybePromise}. Accepts every thenable. */
export function toMaybePromise<T>(value: T | PromiseLike<T>): MaybePromise<T> {
  const isThenable = typeof value === "object" && value !== null && "then" in value;
  return isThenable ? Promise.resolve(value) : value;
}
