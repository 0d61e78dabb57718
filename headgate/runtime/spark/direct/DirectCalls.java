package headgate;

import java.io.EOFException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.Properties;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.ParallelCollectionPartition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.util.AccumulatorV2;

/**
 * Runs planned queries of one partition on threads of this JVM, without Spark jobs.
 *
 * Each connection to the Unix socket has a thread. It reads a request, changes the leaves of a plan as the request says,
 * iterates the plan's RDD in a task context of its own, and writes the rows, as serialized Arrow batches, with the
 * values of the plan's row counters. Compiled by Janino when Spark starts, so it keeps to what Janino understands: no
 * generics, no lambdas.
 *
 * Request: int length of what follows up to the payloads, int plan, int 1 if what Spark would generate for this call
 *   alone is to be interpreted, int number of changes, then for each change int kind, int leaf, long argument (its
 *   length in bytes, a position, or another leaf); then the payloads in order.
 * Reply: int 0 (rows) or 1 (failed), int number of counters, long nanoseconds, long length; the counters; the rows.
 *   Of a failure there is only the number under which `rethrow` finds it, in place of the nanoseconds.
 */
public class DirectCalls implements Runnable {
    private static final int REPLACE = 0; // the batch of a leaf, by the payload
    private static final int APPEND = 1; // the payload to a log
    private static final int REMOVE = 2; // the batch at a position of a log
    private static final int MOVE = 3; // the present batch of another leaf to a log

    private static final AtomicLong TASKS = new AtomicLong(1L << 40); // far from the numbers of Spark's own tasks

    private final DirectCalls server; // null: this is the server, which accepts connections
    private final ServerSocketChannel listening;
    private final SocketChannel connection;
    private final MemoryManager memory;
    private final Properties compiling; // the session's settings, as a task finds them
    private final Properties interpreting; // the same, but nothing is generated while a call runs
    private final ConcurrentHashMap plans = new ConcurrentHashMap(); // Integer -> Plan
    private final ConcurrentHashMap failures = new ConcurrentHashMap(); // Long -> Throwable
    private final ConcurrentHashMap running = new ConcurrentHashMap(); // TaskContextImpl -> Thread

    public DirectCalls(String path, MemoryManager memory, Properties compiling, Properties interpreting)
            throws Exception {
        this.server = null;
        this.connection = null;
        this.memory = memory;
        this.compiling = compiling;
        this.interpreting = interpreting;
        this.listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        this.listening.bind(UnixDomainSocketAddress.of(path));
        start(this, "headgate-direct");
    }

    private DirectCalls(DirectCalls server, SocketChannel connection) {
        this.server = server;
        this.connection = connection;
        this.memory = server.memory;
        this.compiling = server.compiling;
        this.interpreting = server.interpreting;
        this.listening = null;
    }

    /** What a plan is run from. A leaf is an array whose first element is its batch, or the Vector of a log's batches. */
    private static class Plan {
        final RDD rdd;
        final Partition partition;
        final Object[] leaves;
        final Object[] partitions; // of the leaves that are logs; null for the others
        final Object[] counters;

        Plan(RDD rdd, Object[] leaves, Object[] partitions, Object[] counters) {
            this.rdd = rdd;
            this.partition = rdd.partitions()[0];
            this.leaves = leaves;
            this.partitions = partitions;
            this.counters = counters;
        }
    }

    // Called through py4j -------------------------------------------------------------------------------------------

    public void register(int plan, RDD rdd, Object[] leaves, Object[] partitions, Object[] counters) {
        plans.put(Integer.valueOf(plan), new Plan(rdd, leaves, partitions, counters));
    }

    public void forget(int plan) {
        plans.remove(Integer.valueOf(plan));
    }

    /** Throw what a call failed with, so that py4j and PySpark make of it what they make of any error. */
    public void rethrow(long failure) throws Throwable {
        throw (Throwable) failures.remove(Long.valueOf(failure));
    }

    /** End the calls in flight, as soon as Spark's code looks. */
    public void interrupt(String reason) {
        Iterator contexts = running.keySet().iterator();
        while (contexts.hasNext()) {
            TaskContextImpl context = (TaskContextImpl) contexts.next();
            context.markInterrupted(reason);
            Thread thread = (Thread) running.get(context);
            if (thread != null) thread.interrupt();
        }
    }

    /** Accept no more connections. Those that are open end when the other side closes them. */
    public void close() throws Exception {
        listening.close();
    }

    // Threads -------------------------------------------------------------------------------------------------------

    private static void start(DirectCalls work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    public void run() {
        try {
            if (server == null) {
                while (true) start(new DirectCalls(this, listening.accept()), "headgate-direct-call");
            } else {
                while (true) serve();
            }
        } catch (Exception end) { // closed by either side
        }
    }

    private void serve() throws Exception {
        ByteBuffer request = read(read(4).getInt());
        Plan plan = (Plan) server.plans.get(Integer.valueOf(request.getInt()));
        Properties properties = request.getInt() == 1 ? interpreting : compiling;
        int changes = request.getInt();
        for (int i = 0; i < changes; i++) change(plan, request.getInt(), request.getInt(), request.getLong());
        ByteBuffer[] reply;
        try {
            reply = call(plan, properties);
        } catch (Throwable failure) {
            long number = TASKS.incrementAndGet();
            server.failures.put(Long.valueOf(number), failure);
            reply = new ByteBuffer[] {head(1, 0, number, 0)};
        }
        long left = 0;
        for (int i = 0; i < reply.length; i++) left += reply[i].remaining();
        while (left > 0) left -= connection.write(reply);
    }

    private void change(Plan plan, int kind, int leaf, long argument) throws Exception {
        byte[] payload = kind == REPLACE || kind == APPEND ? read((int) argument).array() : null;
        if (plan == null) return; // `call` says so, when the request has been read
        if (kind == REPLACE) {
            ((Object[]) plan.leaves[leaf])[0] = payload;
            return;
        }
        Vector batches = (Vector) plan.leaves[leaf];
        if (kind == APPEND) batches.add(payload);
        else if (kind == REMOVE) batches.removeElementAt((int) argument);
        else if (kind == MOVE) batches.add(((Object[]) plan.leaves[(int) argument])[0]);
        ParallelCollectionPartition partition = (ParallelCollectionPartition) plan.partitions[leaf];
        partition.values_$eq(scala.jdk.javaapi.CollectionConverters.asScala((java.util.List) batches).toSeq());
    }

    private ByteBuffer[] call(Plan plan, Properties properties) throws Throwable {
        if (plan == null) throw new IllegalStateException("no such plan");
        long task = TASKS.incrementAndGet();
        for (int i = 0; i < plan.counters.length; i++) ((AccumulatorV2) plan.counters[i]).reset();
        TaskMemoryManager taskMemory = new TaskMemoryManager(memory, task);
        TaskContextImpl context = new TaskContextImpl(
                0, 0, 0, task, 0, 1, taskMemory, properties, null, new TaskMetrics(),
                scala.math.BigDecimal.valueOf(1.0), scala.collection.immutable.Map$.MODULE$.empty());
        ArrayList rows = new ArrayList();
        long length = 0;
        long began = System.nanoTime();
        Throwable problem = null;
        TaskContext$.MODULE$.setTaskContext(context);
        server.running.put(context, Thread.currentThread());
        try {
            scala.collection.Iterator batches = plan.rdd.iterator(plan.partition, context);
            while (batches.hasNext()) {
                byte[] batch = (byte[]) batches.next();
                rows.add(ByteBuffer.wrap(batch));
                length += batch.length;
            }
        } catch (Throwable error) {
            problem = error;
            context.markTaskFailed(error);
        } finally {
            server.running.remove(context);
            Thread.interrupted(); // an interrupt that came too late must not hit the socket
            try {
                context.markTaskCompleted(problem == null ? scala.Option.empty() : scala.Option.apply(problem));
            } finally {
                taskMemory.cleanUpAllAllocatedMemory();
                memory.releaseAllExecutionMemoryForTask(task);
                TaskContext$.MODULE$.unset();
            }
        }
        if (problem != null) throw problem;
        ByteBuffer[] reply = new ByteBuffer[rows.size() + 2];
        reply[0] = head(0, plan.counters.length, System.nanoTime() - began, length);
        ByteBuffer counts = ByteBuffer.allocate(8 * plan.counters.length);
        for (int i = 0; i < plan.counters.length; i++) {
            counts.putLong(((Long) ((AccumulatorV2) plan.counters[i]).value()).longValue());
        }
        counts.flip();
        reply[1] = counts;
        for (int i = 0; i < rows.size(); i++) reply[i + 2] = (ByteBuffer) rows.get(i);
        return reply;
    }

    private static ByteBuffer head(int status, int counters, long number, long length) {
        ByteBuffer head = ByteBuffer.allocate(24);
        head.putInt(status).putInt(counters).putLong(number).putLong(length);
        head.flip();
        return head;
    }

    private ByteBuffer read(int bytes) throws Exception {
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        while (buffer.hasRemaining()) {
            if (connection.read(buffer) < 0) throw new EOFException();
        }
        buffer.flip();
        return buffer;
    }
}
