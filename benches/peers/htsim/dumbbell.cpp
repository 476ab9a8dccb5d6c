// Bulk TCP flows over one DropTail bottleneck of csg-htsim, for benches/beside.py:
//   dumbbell RATE_MBPS RTT_MS QUEUE_PACKETS FLOWS SECONDS
// It prints the process time of the simulation per data packet that the bottleneck served, and of the set-up per flow.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

static const int PACKET = 1500;

// Counts what the bottleneck serves: stands behind it, and hands on at once.
class Counter : public PacketSink {
public:
    uint64_t packets = 0;
    void receivePacket(Packet &packet) {
        packets++;
        packet.sendOn();
    }
    const string &nodename() { return _name; }

private:
    string _name = "counter";
};

static double cpu_s() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "dumbbell RATE_MBPS RTT_MS QUEUE_PACKETS FLOWS SECONDS\n");
        return 2;
    }
    const double rate_mbps = atof(argv[1]), rtt_ms = atof(argv[2]), seconds = atof(argv[5]);
    const int limit = atoi(argv[3]), flows = atoi(argv[4]);
    cout.setstate(ios_base::failbit); // the library talks about every flow
    srand(1);
    Packet::set_packet_size(PACKET);
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    const linkspeed_bps rate = (linkspeed_bps)(rate_mbps * 1e6);
    Queue bottleneck(rate, memFromPkt(limit), events, NULL), back(rate, memFromPkt(1000000), events, NULL);
    Pipe there(timeFromMs(rtt_ms / 2), events), home(timeFromMs(rtt_ms / 2), events);
    Counter counter;
    TcpRtxTimerScanner scanner(timeFromMs(10), events);

    const double begin = cpu_s();
    // Without SACK an overshoot of slow start takes minutes to repair, so it ends at what the path holds.
    const double holds = rate_mbps * 1e6 / 8 * rtt_ms * 1e-3 + (double)limit * PACKET;
    const uint32_t threshold = (uint32_t)max(2.0 * PACKET, holds / flows);
    for (int i = 0; i < flows; i++) {
        TcpSrc *source = new TcpSrc(NULL, NULL, events);
        TcpSink *sink = new TcpSink();
        scanner.registerTcp(*source);
        Route *out = new Route(), *in = new Route();
        out->push_back(&bottleneck);
        out->push_back(&counter);
        out->push_back(&there);
        out->push_back(sink);
        in->push_back(&back);
        in->push_back(&home);
        in->push_back(source);
        const double start_ms = flows > 1 ? 100.0 * rand() / RAND_MAX : 0;
        source->connect(*out, *in, *sink, timeFromMs(start_ms));
        source->set_ssthresh(threshold);
    }
    const double ready = cpu_s();
    while (events.doNextEvent()) {
    }
    const double end = cpu_s();
    printf("ns_per_pkt %.1f  %llu packets  %.3f s\n", (end - ready) * 1e9 / counter.packets,
           (unsigned long long)counter.packets, end - ready);
    printf("set-up %.2f us per flow\n", (ready - begin) * 1e6 / flows);
    return 0;
}
