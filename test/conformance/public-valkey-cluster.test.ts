import { test } from "vitest";
import { clusterRows } from "./public-rows.ts";
import { publicSuites } from "./public-subjects.ts";

for (const row of clusterRows) publicSuites(row);
if (clusterRows.length === 0) test.skip("needs Valkey or Redis, which this machine has not", () => {});
