import { problemCode, problemCodes, type ProblemSlug } from "../protocol/problem_codes.ts";
import { type JsonSchema, objectSchema } from "../protocol/route_description.ts";
import { pascalName } from "./component_names.ts";

export const problemSchema: JsonSchema = {
  description: "RFC 9457.",
  ...objectSchema({
    type: { type: "string", description: "A page that explains the problem." },
    ...{ title: { type: "string" }, status: { type: "integer" }, detail: { type: "string" } },
    ...{ "code?": { type: "string" }, "details?": { type: "object", additionalProperties: true } },
  }),
};

export class ProblemResponses {
  readonly #components = new Map<string, JsonSchema>();

  of(slugs: Iterable<ProblemSlug>): Readonly<Record<string, JsonSchema>> {
    const all = [...new Set(slugs)].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    const byStatus = Map.groupBy(all, (slug) => problemCodes[slug].status);
    return Object.fromEntries(
      [...byStatus].map(([status, codes]) => [String(status), this.#ref(status, codes)]),
    );
  }

  components(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => a < b ? -1 : 1));
  }

  #ref(status: number, slugs: readonly ProblemSlug[]): JsonSchema {
    const name = slugs.map(pascalName).join("Or");
    if (!this.#components.has(name)) {
      this.#components.set(name, {
        description: slugs.map((slug) => `\`${problemCode(slug)}\`: ${problemCodes[slug].title}.`)
          .join(" "),
        ...headersOf(status, slugs),
        content: {
          "application/problem+json": {
            schema: {
              allOf: [
                { $ref: "#/components/schemas/Problem" },
                {
                  type: "object",
                  properties: { code: { type: "string", enum: slugs.map(problemCode) } },
                },
              ],
            },
          },
        },
      });
    }
    return { $ref: `#/components/responses/${name}` };
  }
}

// The cast is safe: the type of `problemCodes` has exactly the codes as keys.
const order = Object.keys(problemCodes) as ProblemSlug[];

const text = { schema: { type: "string" } };
const whole = { schema: { type: "integer", minimum: 0 } };

const challengeType = {
  "Service-Challenge-Type": { schema: { type: "string", enum: ["pow", "captcha"] } },
};

const headersOfStatus: Readonly<Record<number, JsonSchema>> = {
  401: { "WWW-Authenticate": text },
  429: { "Retry-After": whole, RateLimit: text, "RateLimit-Policy": text },
  503: { "Retry-After": whole },
};

const headersOfCode: Readonly<Partial<Record<ProblemSlug, JsonSchema>>> = {
  "proof-of-work-required": {
    ...challengeType,
    "Service-PoW-Challenge": text,
    "Service-PoW-Difficulty": whole,
    "Service-PoW-Algorithm": { schema: { type: "string", enum: ["sha256"] } },
  },
  "captcha-required": {
    ...challengeType,
    "Service-Captcha-Provider": text,
    "Service-Captcha-Sitekey": text,
    "Service-Captcha-Action": text,
  },
};

function headersOf(status: number, slugs: readonly ProblemSlug[]): JsonSchema {
  const all = [headersOfStatus[status], ...slugs.map((slug) => headersOfCode[slug])];
  const headers: JsonSchema = Object.assign({}, ...all);
  return Object.keys(headers).length === 0 ? {} : { headers };
}
