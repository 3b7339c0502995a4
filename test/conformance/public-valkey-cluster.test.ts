import { expect, test } from "vitest";
import { hasValkey } from "../servers/valkey-server.ts";
import { clusterRows } from "./public-rows.ts";
import { publicSuites } from "./public-subjects.ts";

for (const row of clusterRows) publicSuites(row);

test("a machine with a server has a row here, one without has none", () => {
	expect(clusterRows).toHaveLength(hasValkey() ? 1 : 0);
});
