import { expect, test } from "vitest";
import { losingFirstAnswers } from "./losing-proxy.ts";
import { entry, Stand, tokenOf } from "./stand.ts";

const MIB = 1024 * 1024;

test("a step is recorded once, though every first answer is lost", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const { ff, sent } = await losingFirstAnswers(stand);
	const step = { fence, name: "fetch", index: 0, startedAt: 1 };
	const answer = await ff.backend.leases.recordStep(id, { ...step, result: { a: 1 } });
	expect(sent.filter((call) => call.startsWith("POST"))).toHaveLength(2);
	const { steps } = await stand.backend.executions.steps(id, { values: true });
	expect(steps).toEqual([{ ...answer, result: { a: 1 } }]);
});

test("what steps returned is not for viewers", async () => {
	const stand = await Stand.open({ tokens: [entry("looker", "viewer"), entry("worker", "worker")] });
	const { id, fence } = await stand.held();
	const step = { fence, name: "fetch", index: 0, startedAt: 1 };
	await stand.backend.leases.recordStep(id, { ...step, result: "secret" });
	const path = `/v1/executions/${id}/steps`;
	const shown = await stand.call("GET", path, { token: tokenOf("looker") });
	expect([shown.status, shown.text]).toEqual([200, expect.not.stringContaining("secret")]);
	const asked = await stand.call("GET", `${path}?values=true`, { token: tokenOf("looker") });
	expect(asked).toMatchObject({ status: 403, json: { error: { code: "forbidden" } } });
	const given = await stand.call("GET", `${path}?values=true`, { token: tokenOf("worker") });
	expect(given.json.steps[0].result).toBe("secret");
});

test("recorded steps may be 64 MiB, and are refused by name beyond", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const step = { fence, name: "fetch", startedAt: 1 };
	const resultBase64 = Buffer.alloc(MIB).toString("base64");
	const { leases } = stand.backend;
	for (let index = 0; index < 64; index++) await leases.recordStep(id, { ...step, index, resultBase64 });
	const refused = await stand.call("POST", `/v1/executions/${id}/steps`, { body: { ...step, index: 64, result: 1 } });
	expect(refused).toMatchObject({
		status: 409,
		json: { error: { code: "steps_too_large", retryable: false, details: { limit: 64 * MIB, size: 64 * MIB + 64 } } },
	});
	// What is there is answered as before, and the work goes on.
	await leases.recordStep(id, { ...step, index: 63, resultBase64 });
	await leases.complete(id, { fence: step.fence });
	const { steps } = await stand.backend.executions.steps(id, { limit: 1000 });
	expect(steps).toHaveLength(64);
});
