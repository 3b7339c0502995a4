import { test } from "vitest";
import { clusterOverHttpRows } from "./public-rows.ts";
import { publicSuites } from "./public-subjects.ts";

for (const row of clusterOverHttpRows) publicSuites(row);
// Without a server, which `hasValkey` has told loudly of and a build server may not lack, this file would hold no test
// at all, and that counts as broken.
if (clusterOverHttpRows.length === 0) test.skip("needs Valkey or Redis, which this machine has not", () => {});
