import { test } from "vitest";
import { clusterOverHttpRows } from "./public-rows.ts";
import { publicSuites } from "./public-subjects.ts";

for (const row of clusterOverHttpRows) publicSuites(row);
if (clusterOverHttpRows.length === 0) test.skip("needs Valkey or Redis, which this machine has not", () => {});
