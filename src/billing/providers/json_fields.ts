/**
 * The fields of a JSON object from a provider: each is read as what it should be, and is undefined
 * where it is anything else.
 */
export class JsonFields {
  /** The value itself. */
  readonly value: unknown;

  /** Takes any value; of one that is no object every field is absent. */
  constructor(value: unknown) {
    this.value = value;
  }

  /** A string that is not empty. */
  text(name: string): string | undefined {
    const value = this.#own(name);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** A number, or the text of one, as some providers send amounts. */
  number(name: string): number | undefined {
    const value = this.#own(name);
    if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
    return typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  }

  /** A quantity: 1 if the field is absent, and NaN if it is no number. */
  quantity(name = "quantity"): number {
    const value = this.#own(name);
    return value === undefined ? 1 : typeof value === "number" ? value : NaN;
  }

  /** A quantity of a provider whose documents say that null is for prices without one. */
  quantityOrNull(name = "quantity"): number {
    return this.#own(name) === null ? 1 : this.quantity(name);
  }

  /** True or false. */
  flag(name: string): boolean | undefined {
    const value = this.#own(name);
    return typeof value === "boolean" ? value : undefined;
  }

  /** The fields of an object; without fields where there is none. */
  at(name: string): JsonFields {
    return new JsonFields(this.#own(name));
  }

  /** The elements of a list; empty where there is none. */
  list(name: string): readonly JsonFields[] {
    const value = this.#own(name);
    return Array.isArray(value) ? value.map((one) => new JsonFields(one)) : [];
  }

  /** An id: a string, a number, or the object that was put in its place. */
  id(name: string): string | undefined {
    const value = this.#own(name);
    if (typeof value === "number") return String(value);
    return typeof value === "object" ? new JsonFields(value).text("id") : this.text(name);
  }

  /** Metadata: the fields of an object that are strings, numbers or flags, as strings. */
  texts(name: string): Readonly<Record<string, string>> {
    const value = this.#own(name);
    if (typeof value !== "object" || value === null) return {};
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, value]) =>
        /^(string|number|boolean)$/.test(typeof value) ? [[key, String(value)]] : []
      ),
    );
  }

  #own(name: string): unknown {
    const { value } = this;
    return typeof value === "object" && value !== null && Object.hasOwn(value, name)
      ? Reflect.get(value, name)
      : undefined;
  }
}

/**
 * Returns true if money paid less than half of what was charged. Of some providers, credit may be the proration
 * of the plan before, or a balance: what is left of a plan by months is less than half of a year.
 */
export function isMostlyCredit(cash: number | undefined, charged: number | undefined): boolean {
  return cash !== undefined && charged !== undefined && (cash <= 0 || cash * 2 < charged);
}

/** A time in seconds since 1970 as RFC 3339; undefined for none. */
export function timeOfSeconds(seconds: number | undefined): string | undefined {
  if (seconds === undefined || Math.abs(seconds) > 8.64e12) return undefined;
  return new Date(seconds * 1000).toISOString();
}

/** A time of a provider as RFC 3339 in UTC, with milliseconds; undefined for none. */
export function timeOf(text: string | undefined): string | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** The fields of an object that are not undefined. */
export function present<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  // Only what is undefined is left out, which the type says.
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };
}
