/**
 * Submits to a server until it is told to stop by SIGTERM, saying which submissions were acknowledged. What it could not
 * hear the answer of is not counted: without a key it may or may not be there, with one it is tried until it is known.
 */
import { FlowFabric, FlowFabricError } from "../../../dist/index.js";

const [url, name] = process.argv.slice(2);
const ff = FlowFabric.connect(url);
let stopping = false;
process.once("SIGTERM", () => {
	stopping = true;
});

const kinds = ["plain", "flaky", "slow"];
async function submitter(lane) {
	for (let n = 0; !stopping; n++) {
		const keyed = n % 2 === 0 ? { idempotencyKey: `${name}-${lane}-${n}` } : {};
		for (;;) {
			try {
				const run = await ff.submit(kinds[n % 3], { n }, { lane, ...keyed, policy: { retry: { maxRetries: 5 } } });
				process.stdout.write(`ack ${run.id} ${keyed.idempotencyKey ?? ""}\n`);
				break;
			} catch (error) {
				if (!(error instanceof FlowFabricError) || !error.retryable) throw error;
				if (!keyed.idempotencyKey) break;
			}
		}
	}
}
await Promise.all([submitter("default"), submitter("other"), submitter("default2")]);
await ff.close();
