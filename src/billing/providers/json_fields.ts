/**
 * The fields of a JSON object from a provider. Each field is read as its expected type, and is
 * undefined if it has another type.
 */
export class JsonFields {
  /** The value itself. */
  readonly value: unknown;

  /** Takes any value. A value that is not an object has no fields. */
  constructor(value: unknown) {
    this.value = value;
  }

  /** Returns a non-empty string. */
  text(name: string): string | undefined {
    const value = this.#own(name);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  /** Returns a number, or the value of a numeric string, as some providers send amounts. */
  number(name: string): number | undefined {
    const value = this.#own(name);
    if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
    return typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  }

  /** Returns a quantity: 1 if the field is absent, and NaN if it is not a number. */
  quantity(name = "quantity"): number {
    const value = this.#own(name);
    return value === undefined ? 1 : typeof value === "number" ? value : NaN;
  }

  /** Returns a quantity of a provider that documents null for prices without a quantity. */
  quantityOrNull(name = "quantity"): number {
    return this.#own(name) === null ? 1 : this.quantity(name);
  }

  flag(name: string): boolean | undefined {
    const value = this.#own(name);
    return typeof value === "boolean" ? value : undefined;
  }

  /** Returns the fields of an object; without fields if there is none. */
  at(name: string): JsonFields {
    return new JsonFields(this.#own(name));
  }

  /** Returns the elements of a list; empty if there is none. */
  list(name: string): readonly JsonFields[] {
    const value = this.#own(name);
    return Array.isArray(value) ? value.map((one) => new JsonFields(one)) : [];
  }

  /** Returns an id: a string, a number, or the id of an expanded object. */
  id(name: string): string | undefined {
    const value = this.#own(name);
    if (typeof value === "number") return String(value);
    return typeof value === "object" ? new JsonFields(value).text("id") : this.text(name);
  }

  /** Returns metadata: the string, number and boolean fields of an object, as strings. */
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
 * Returns true if money paid less than half of the charge. For some providers, credit is a balance
 * or the proration of the previous plan. The rest of a monthly plan is less than half of a yearly
 * plan.
 */
export function isMostlyCredit(cash: number | undefined, charged: number | undefined): boolean {
  return cash !== undefined && charged !== undefined && (cash <= 0 || cash * 2 < charged);
}

/** Converts seconds since 1970 to RFC 3339. Returns undefined if there are none. */
export function timeOfSeconds(seconds: number | undefined): string | undefined {
  if (seconds === undefined || Math.abs(seconds) > 8.64e12) return undefined;
  return new Date(seconds * 1000).toISOString();
}

/** Converts a provider's time to RFC 3339 in UTC, with milliseconds. Undefined if it is invalid. */
export function timeOf(text: string | undefined): string | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/** Returns the fields of an object that are not undefined. */
export function present<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  // Only undefined fields are omitted, as the type declares.
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };
}
