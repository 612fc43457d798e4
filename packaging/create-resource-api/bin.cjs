#!/usr/bin/env node
"use strict";
// `npm create resource-api my-app` runs `resource-api init my-app`.
process.argv.splice(2, 0, "init");
require("resource-api/bin.cjs");
