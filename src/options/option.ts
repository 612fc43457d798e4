import { nearestName } from "../problem/nearest_name.ts";
import { showValue } from "../problem/show_value.ts";

export interface OptionLocation {
  /** The beginning of a message: `Cannot start`, `Cannot serve "notes"`. */
  readonly subject: string;
  /** The path of the option, such as `abuseProtection.pow.difficulty`. Empty for all options. */
  readonly path: string;
}

export type OptionShape =
  | { readonly kind: "number"; readonly whole: boolean; readonly from: number; readonly to: number }
  | { readonly kind: "name"; readonly names: readonly string[] }
  | { readonly kind: "list"; readonly each: Option<unknown> }
  | { readonly kind: "named"; readonly each: Option<unknown> }
  | { readonly kind: "group"; readonly members: Readonly<Record<string, Option<unknown>>> }
  | { readonly kind: "either"; readonly options: readonly Option<unknown>[] }
  | { readonly kind: "flag" | "text" | "function" | "other" };

export interface OptionRules {
  /** The text after "must be" in messages, e.g. `a whole number from 1 to 32`. */
  readonly takes: string;
  readonly fits: (given: unknown) => boolean;
  readonly shape: OptionShape;
  /** Converts the members of an accepted value. Without this function, they stay unchanged. */
  readonly readParts?: (given: unknown, place: OptionLocation) => unknown;
  /** Returns a message for a frequent mistake, or null to use the usual message "must be …". */
  readonly advice?: (given: unknown) => string | null;
  /** True if messages can contain an invalid string. False or absent for a secret. */
  readonly showsTexts?: boolean;
  readonly isRequired?: boolean;
  /** The default, in the form in which a caller would pass a value. */
  readonly defaultValue?: unknown;
}

/** The accepted values and the default of an option. `T` is the type of the value after reading. */
export class Option<T> {
  readonly rules: OptionRules;

  constructor(rules: OptionRules) {
    this.rules = rules;
  }

  default(value: NonNullable<T> | Record<never, never>): Option<NonNullable<T>> {
    return new Option({ ...this.rules, defaultValue: value });
  }

  required(): Option<NonNullable<T>> {
    return new Option({ ...this.rules, isRequired: true });
  }

  /** Returns a copy of this option that checks a value, but leaves the value unchanged. */
  asGiven<Given>(): Option<Given | undefined> {
    const { readParts } = this.rules;
    return new Option({
      ...this.rules,
      readParts(given, place) {
        readParts?.(given, place);
        return given;
      },
    });
  }

  advising(advice: (given: unknown) => string | null): Option<T> {
    return new Option({ ...this.rules, advice });
  }

  /** Returns a copy of this option with one more test. `takes` follows "must be" in messages. */
  fitting(takes: string, test: (given: NonNullable<T>) => boolean): Option<T> {
    const { fits } = this.rules;
    // The cast is safe, because `fits` has accepted the value.
    const passes = (given: unknown) => fits(given) && test(given as NonNullable<T>);
    return new Option({ ...this.rules, takes, fits: passes });
  }

  read(given: unknown, place: OptionLocation): T {
    const { takes, fits, readParts, advice, isRequired, defaultValue } = this.rules;
    const value = given === undefined ? defaultValue : given;
    // The cast is safe: without a default, the type of the option includes undefined.
    if (value === undefined && isRequired !== true) return undefined as T;
    if (!fits(value)) {
      const mistake = advice?.(value) ??
        (value === undefined
          ? `is missing: it must be ${takes}`
          : `must be ${takes}, not ${this.#show(value)}`);
      throw new Error(`${place.subject}: ${place.path || "the options"} ${mistake}`);
    }
    // The cast is safe: the rules have accepted the value, and only this file creates rules.
    return (readParts === undefined ? value : readParts(value, place)) as T;
  }

  #show(value: unknown): string {
    const isShown = this.rules.showsTexts === true && typeof value === "string";
    return isShown ? JSON.stringify(value.slice(0, 40)) : showValue(value);
  }
}

export type Described<Options> = {
  readonly [Name in keyof Required<Options>]: Option<
    Name extends keyof Options
      ? Record<never, never> extends Pick<Options, Name> ? Options[Name] | undefined
      : Options[Name]
      : never
  >;
};

export type OptionValues<Members> = {
  readonly [Name in keyof Members]: Members[Name] extends Option<infer T> ? T : never;
};

/** Describes a group of options. An unknown member causes an Error that suggests a name. */
export function group<Members extends Readonly<Record<string, Option<unknown>>>>(
  members: Members,
): Option<OptionValues<Members> | undefined> {
  return new Option({
    takes: "an object",
    fits: isObject,
    shape: { kind: "group", members },
    readParts(given, place) {
      for (const name of namesOf(given)) requireKnown(name, Object.keys(members), place);
      return Object.fromEntries(
        Object.entries(members).map(([name, option]) => [
          name,
          option.read(memberOf(given, name), inside(place, name)),
        ]),
      );
    },
  });
}

/** {@link group} for a type: the compiler reports a missing, superfluous or wrong member. */
export function groupOf<Options>(): <Members extends Described<Options>>(
  members: Members & Readonly<Record<Exclude<keyof Members, keyof Options>, never>>,
) => Option<OptionValues<Members> | undefined> {
  return (members) => group(members);
}

export function mapOf<T>(each: Option<T>): Option<Readonly<Record<string, T>> | undefined> {
  return new Option({
    takes: "an object",
    fits: isObject,
    shape: { kind: "named", each },
    readParts: (given, place) =>
      Object.fromEntries(
        namesOf(given).map((name) => [name, each.read(memberOf(given, name), inside(place, name))]),
      ),
  });
}

/** Describes a list. `each` describes every item. `of` follows "a list of" in messages. */
export function listOf<T>(
  of: string,
  each: Option<T>,
): Option<readonly NonNullable<T>[] | undefined> {
  const one = each.required();
  return new Option({
    takes: `a list of ${of}`,
    fits: Array.isArray,
    shape: { kind: "list", each },
    // The cast is safe: `fits` accepts only lists. `Array.from` also visits empty slots.
    readParts: (given, { subject, path }) =>
      Array.from(
        given as readonly unknown[],
        (value, index) => one.read(value, { subject, path: `${path}[${index}]` }),
      ),
  });
}

/** Describes an option with two forms. The first form that accepts the value reads it. */
export function either<A, B>(first: Option<A>, second: Option<B>): Option<A | B> {
  const options = [first, second];
  return new Option({
    takes: `${first.rules.takes.replace(" or ", ", ")} or ${second.rules.takes}`,
    fits: (given) => options.some(({ rules }) => rules.fits(given)),
    shape: { kind: "either", options },
    showsTexts: first.rules.showsTexts ?? false,
    readParts: (given, place) => options.find(({ rules }) => rules.fits(given))?.read(given, place),
  });
}

function isObject(given: unknown): boolean {
  // Rejects lists, promises, Maps and other objects that contain more than their members.
  return /^\[object (Object|Module)\]$/.test(Object.prototype.toString.call(given));
}

/** Returns the names of own and inherited members, because the options can be inherited. */
function namesOf(given: unknown): readonly string[] {
  const names: string[] = [];
  for (const name in Object(given)) names.push(name);
  return names;
}

function memberOf(given: unknown, name: string): unknown {
  return Reflect.get(Object(given), name);
}

function inside({ subject, path }: OptionLocation, name: string): OptionLocation {
  return { subject, path: path === "" ? name : `${path}.${name}` };
}

function requireKnown(name: string, known: readonly string[], place: OptionLocation): void {
  if (known.includes(name)) return;
  const near = nearestName(name, known);
  const advice = near === null ? `; known are ${known.join(", ")}` : `: did you mean "${near}"?`;
  const owner = place.path === "" ? "there is" : `${place.path} has`;
  throw new Error(`${place.subject}: ${owner} no option "${name}"${advice}`);
}
