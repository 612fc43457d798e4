import { Option } from "./option.ts";

export interface NumberRange {
  readonly from: number;
  readonly to?: number;
}

export function whole({ from, to = Number.MAX_SAFE_INTEGER }: NumberRange): Option<
  number | undefined
> {
  return new Option({
    takes: to === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${from} on`
      : `a whole number from ${from} to ${to}`,
    fits: (given) =>
      typeof given === "number" && Number.isSafeInteger(given) && given >= from && given <= to,
    shape: { kind: "number", whole: true, from, to },
    showsTexts: true,
  });
}

/** Describes a timer's duration in milliseconds. A timer above 2^31 ms would fire immediately. */
export function timerMs(): Option<number | undefined> {
  return whole({ from: 1, to: 2_147_483_647 });
}

export function number(
  { from, to = Number.MAX_VALUE }: NumberRange = { from: -Number.MAX_VALUE },
): Option<number | undefined> {
  return new Option({
    takes: from === -Number.MAX_VALUE
      ? "a number"
      : to === Number.MAX_VALUE
      ? `a number from ${from} on`
      : `a number from ${from} to ${to}`,
    fits: (given) =>
      typeof given === "number" && Number.isFinite(given) && given >= from && given <= to,
    shape: { kind: "number", whole: false, from, to },
    showsTexts: true,
  });
}

export function flag(): Option<boolean | undefined> {
  return new Option({
    takes: "true or false",
    fits: (given) => typeof given === "boolean",
    shape: { kind: "flag" },
    showsTexts: true,
  });
}

export function oneOf<const Name extends string>(
  ...names: readonly Name[]
): Option<Name | undefined> {
  return new Option({
    takes: names.map((name) => JSON.stringify(name)).join(", ").replace(/, ([^,]*)$/, " or $1"),
    fits: (given) => names.some((name) => name === given),
    shape: { kind: "name", names },
    showsTexts: true,
  });
}

/** Describes a string without control characters. It must not be a secret: messages show it. */
export function textLike(takes: string, pattern: RegExp): Option<string | undefined> {
  return new Option({
    takes,
    fits: (given) => typeof given === "string" && pattern.test(given) && !/\p{Cc}/u.test(given),
    shape: { kind: "text" },
    showsTexts: true,
  });
}

/** Describes a function. A generator function is rejected, because a call does not run its body. */
export function callback<Callback>(takes = "a function"): Option<Callback | undefined> {
  return new Option({
    takes,
    fits: (given) => typeof given === "function" && !tagOf(given).endsWith("GeneratorFunction"),
    shape: { kind: "function" },
    advice: (given) =>
      typeof given === "function"
        ? "is a generator, which never runs: it must be a function"
        : null,
  });
}

/** Describes a synchronous function. Rejects an `async` function, whose result is a promise. */
export function synchronous<Callback>(): Option<Callback | undefined> {
  return new Option({
    takes: "a synchronous function",
    fits: (given) => typeof given === "function" && tagOf(given) === "Function",
    shape: { kind: "function" },
    advice: (given) =>
      typeof given === "function" ? "is asynchronous: it must be a synchronous function" : null,
  });
}

/** Describes an object with certain members. `takes` follows "must be" in messages. */
export function objectWith<Made>(
  takes: string,
  ...members: readonly string[]
): Option<Made | undefined> {
  return testedValue(
    takes,
    (given) =>
      typeof given === "object" && given !== null && members.every((member) => member in given),
  );
}

export function off(): Option<false | undefined> {
  return testedValue<false>("false", (given) => given === false);
}

/** Describes a value that `fits` accepts. `takes` follows "must be" in messages. */
export function testedValue<T>(
  takes: string,
  fits: (given: unknown) => boolean,
): Option<T | undefined> {
  return new Option({ takes, fits, shape: { kind: "other" } });
}

function tagOf(given: unknown): string {
  return Object.prototype.toString.call(given).slice("[object ".length, -1);
}
