/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value at once where it is there: a promise costs turns of the queue. */
export function then<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
