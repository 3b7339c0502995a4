import { FlowFabric, RetryAfter, TerminalError } from "flowfabric";

/**
 * The shape of a real program: typed kinds, an idempotency key, a handler that distinguishes retryable from permanent errors,
 * a deadline, and a cancel. Run it after `npm run build`.
 */

type Kinds = {
	charge: { input: { order: string; cents: number }; result: { receipt: string } };
};

const ff = await FlowFabric.open<Kinds>("memory:");

const worker = ff.worker({ concurrency: 8, leaseMs: 10_000 });
worker.use(async (ctx, next) => {
	const startedAt = performance.now();
	try {
		return await next();
	} finally {
		ctx.log.info(`${ctx.execution.kind} took ${Math.round(performance.now() - startedAt)} ms`);
	}
});
worker.handle("charge", async (ctx, { order, cents }) => {
	if (cents <= 0) throw new TerminalError(`order ${order}: there is nothing to charge`);
	if (ctx.attempt.index === 0) throw new RetryAfter(50, "the bank asks us to come back");
	await ctx.progress({ percent: 50, message: "charging" });
	ctx.signal.throwIfAborted();
	return { receipt: `${order}-${cents}` };
});
await worker.start();

const policy = { retry: { maxRetries: 5 }, timeouts: { deadlineMs: 60_000 } };
const run = await ff.submit("charge", { order: "A-17", cents: 1250 }, { idempotencyKey: "charge-A-17", policy });
const again = await ff.submit("charge", { order: "A-17", cents: 1250 }, { idempotencyKey: "charge-A-17", policy });
console.log(`submitted twice, one execution: ${run.id === again.id}`);
console.log(`receipt: ${(await run.result()).receipt}`);

const hopeless = await ff.submit("charge", { order: "A-18", cents: 0 }, { policy });
const { publicState, failure } = await hopeless.wait();
console.log(`${publicState}: ${failure?.reason}`);

const later = await ff.submit("charge", { order: "A-19", cents: 300 }, { delayMs: 3_600_000 });
await later.cancel({ reason: "the customer changed their mind" });
console.log(`cancelled: ${(await later.get()).cancel?.reason}`);
await ff.close();
