import type { Reply } from "../../protocol/reply.ts";
import type { RouteDescription } from "../../protocol/route_description.ts";
import { describePage, type ServicePage } from "../service_pages.ts";

const referencePath = "/__service/reference";

const files = ["swagger-ui-bundle.js", "swagger-ui.css", "start.js"] as const;

/** Creates the API reference: Swagger UI. Its files come from the installed package, on demand. */
export function createReferencePages(): readonly ServicePage[] {
  const read = new Map<string, Promise<string>>();
  const textOf = (name: string) => {
    const text = read.get(name) ?? readPackageFile(name);
    read.set(name, text);
    return text;
  };
  return [
    {
      path: referencePath,
      description: describe("Reference", "The reference, for people", htmlType),
      isOpen: false,
      at: (path) => path === referencePath ? () => htmlReply : null,
    },
    ...files.map((name): ServicePage => {
      const path = `${referencePath}/${name}`;
      const type = name.endsWith(".css") ? "text/css" : "text/javascript";
      return {
        path,
        description: describe(
          `Reference${fileIds[name]}`,
          `A file of the reference, ${name}`,
          type,
        ),
        isOpen: false,
        at: (requested) =>
          requested === path
            ? async () => fileReply(type, name === "start.js" ? startScript : await textOf(name))
            : null,
      };
    }),
  ];
}

const fileIds: Readonly<Record<typeof files[number], string>> = {
  "swagger-ui-bundle.js": "Bundle",
  "swagger-ui.css": "Style",
  "start.js": "Script",
};

const htmlType = "text/html";

/** Allows only files of the service. The style sheet contains its images as `data:` URLs. */
const securityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

// The paths are relative, so that they are right at every mount path.
const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>API reference</title>
<link rel="stylesheet" href="reference/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="reference/swagger-ui-bundle.js"></script>
<script src="reference/start.js"></script>
</body>
</html>
`;

/** With `validatorUrl: null`, Swagger UI does not send the document to Swagger's host. */
const startScript = `SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
`;

const htmlReply: Reply = {
  status: 200,
  headers: {
    "content-type": `${htmlType}; charset=utf-8`,
    "content-security-policy": securityPolicy,
    "cache-control": "private, no-cache",
  },
  body: html,
};

function fileReply(type: string, body: string): Reply {
  const headers = {
    "content-type": `${type}; charset=utf-8`,
    "cache-control": "private, max-age=3600",
  };
  return { status: 200, headers, body };
}

function describe(id: string, summary: string, type: string): RouteDescription {
  const answers = { 200: { type, schema: { type: "string" } } };
  return describePage({ id: `describe${id}`, summary, answers });
}

/** The path is a variable, so that bundlers do not add the package to every program. */
const packageFiles = "./swagger_ui_files.ts";

async function readPackageFile(name: string): Promise<string> {
  // The cast is safe: the module at that path exports this function.
  const module = await import(packageFiles) as { readSwaggerUi(name: string): Promise<string> };
  return await module.readSwaggerUi(name);
}
