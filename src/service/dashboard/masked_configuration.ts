import type { Option, OptionShape } from "../../options/option.ts";

/**
 * Returns a configuration in a form that the dashboard may show. The descriptions of the options
 * decide what is shown: numbers, booleans, and strings that messages may show. Secrets are masked,
 * and URLs lose parts that could be secret. Functions and foreign objects are only named. Missing
 * options are omitted.
 */
export function maskedConfiguration(described: Option<unknown>, given: unknown): unknown {
  return given === undefined ? undefined : masked(described.rules.shape, given);
}

function masked(shape: OptionShape, given: unknown): unknown {
  switch (shape.kind) {
    case "number":
    case "flag":
      return kindOf(given);
    case "name":
      return shape.names.find((name) => name === given) ?? kindOf(given);
    case "text":
      return typeof given === "string" ? withoutCredentials(given) : kindOf(given);
    case "list":
      return Array.isArray(given)
        ? given.map((one) => maskedConfiguration(shape.each, one))
        : kindOf(given);
    case "named":
      return members(given, () => shape.each);
    case "group":
      return members(given, (name) => shape.members[name]);
    case "either": {
      const option = shape.options.find(({ rules }) => rules.fits(given));
      return option === undefined ? kindOf(given) : maskedConfiguration(option, given);
    }
    case "function":
    case "other":
      return kindOf(given);
  }
}

function members(
  given: unknown,
  optionOf: (name: string) => Option<unknown> | undefined,
): unknown {
  if (typeof given !== "object" || given === null) return kindOf(given);
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const option = optionOf(name);
      const shown = option === undefined ? undefined : maskedConfiguration(option, value);
      return shown === undefined ? [] : [[name, shown]];
    }),
  );
}

/** Returns a URL without user, password, query and fragment, or any other string unchanged. */
function withoutCredentials(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  const url = URL.parse(text);
  if (url === null) return hidden;
  return `${url.protocol}//${url.host}${url.pathname === "/" ? "" : url.pathname}`;
}

const hidden = "•••";

/** Returns the kind of a value as messages name it, and nothing else about the value. */
function kindOf(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(kindOf);
  if (typeof given === "string") return hidden;
  if (typeof given === "function") return "a function";
  if (typeof given !== "object" || given === null) return given;
  for (const name of ["label", "provider", "kind", "name"]) {
    const value: unknown = Reflect.get(given, name);
    if (typeof value === "string") return value;
  }
  const { constructor } = given;
  return typeof constructor === "function" && constructor !== Object
    ? `a ${constructor.name}`
    : "an object";
}
