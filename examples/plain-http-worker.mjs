// A worker in plain HTTP: any language that can send JSON can do the same. It handles one kind, "shout".
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

const url = process.env.FF_URL ?? "http://127.0.0.1:9090";
const token = process.env.FF_TOKEN;
const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
const instanceId = `plain-${randomUUID()}`;
const leaseMs = 10_000;

const handlers = {
	shout: async (input) => String(input.text).toUpperCase(),
};

async function post(path, body) {
	const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
	const answer = await response.json();
	if (!response.ok) throw new Error(`${answer.error.code}: ${answer.error.message}`);
	return answer;
}

async function work({ id, kind, input, lease }) {
	// The fence proves that we hold the lease. Once the lease is lost, every call with this fence is refused.
	const fence = { leaseId: lease.id, epoch: lease.epoch };
	const renew = () => post("/v1/leases/renew", { leases: [{ executionId: id, ...fence }], leaseMs });
	const renewals = setInterval(() => renew().catch((error) => console.error(`${id}: ${error.message}`)), leaseMs / 3);
	try {
		const result = await handlers[kind](input);
		await post(`/v1/executions/${id}/complete`, { fence, result });
		console.log(`${id}: ${JSON.stringify(result)}`);
	} catch (error) {
		console.error(`${id}: ${error.message}`);
		const failure = { fence, reason: String(error.message), category: "error" };
		await post(`/v1/executions/${id}/fail`, failure).catch(() => {}); // the lease expires, and the work returns to the queue
	} finally {
		clearInterval(renewals);
	}
}

console.log(`waiting for work at ${url}`);
for (;;) {
	try {
		// Answers as soon as there is work, or with an empty list after waitMs.
		const kinds = Object.keys(handlers);
		const claim = { workerId: "plain", instanceId, lanes: ["default"], kinds, max: 4, leaseMs, waitMs: 20_000 };
		const { executions } = await post("/v1/claims", claim);
		await Promise.all(executions.map(work));
	} catch (error) {
		console.error(`a claim failed and will be retried: ${error.message}`);
		await pause(1000);
	}
}
