// Bulk TCP flows over one DropTail bottleneck, on ns-3 through its public API; one JSON line on stdout.
//
//   senders --[bottleneck: rate, queue, rtt/2]--> receivers --[reverse link, rtt/2]--> senders
//
// Without --access-rate-bps all senders sit on the node that owns the bottleneck queue and all receivers on the node behind it
// (the cheapest form of this path in ns-3). With it every sender and receiver has a node and an access link without delay of its own.
//
// Wire size: a full packet is mss + 20 (IPv4) + 20 (TCP) + 12 (timestamps) + overhead. A point-to-point device adds 2 of the overhead
// bytes itself (PPP); the others are added in time: as an inter-frame gap of the sending device, and as propagation delay,
// so that rate, spacing and round trips are those of packets that carry the bytes.
//
// The bottleneck queue is the device's DropTailQueue. It holds the packets that wait, not the one in transmission.
// Device flow control is off and no queue disc exists: with either of them packets are held or dropped outside the device queue.

#include "disc_queue.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>

using namespace ns3;

namespace
{

constexpr uint32_t PPP_BYTES = 2;
constexpr uint32_t UNLIMITED_BUFFER = (1u << 30) - 1;
constexpr uint64_t NO_LIMIT_RATE = 100'000'000'000; // a link that is never the limit

struct Options
{
    uint32_t flows = 1;
    uint64_t rateBps = 10'000'000;
    double rttMs = 40;
    uint32_t queuePackets = 33;
    bool queueCountsService = false;
    double duration = 10;
    uint32_t mss = 1448;
    uint32_t overhead = 14;
    std::string cc = "newreno";
    std::string recovery = "prr";
    bool sack = true;
    bool timestamps = true;
    bool limitedTransmit = true;
    uint32_t iw = 10;
    uint32_t delack = 2;
    double delackMs = 200;
    double minRtoMs = 1000;
    std::string start = "0";
    double startStepMs = 0;
    uint64_t accessRateBps = 0;
    uint64_t reverseRateBps = 0;
    std::string drops;
    std::string disc;
    uint64_t run = 1;
    std::string series;
    bool light = false;
    bool startupOnly = false;
};

std::vector<std::string>
Split(const std::string& text)
{
    std::vector<std::string> parts;
    std::stringstream in(text);
    for (std::string part; std::getline(in, part, ',');)
    {
        if (!part.empty())
        {
            parts.push_back(part);
        }
    }
    return parts;
}

// Integral of a step function over time, from `from` to the end of the run.
class TimeAverage
{
  public:
    void Begin(double value)
    {
        m_from = m_last = Simulator::Now();
        m_value = value;
    }

    void Set(double value)
    {
        Advance();
        m_value = value;
        m_max = std::max(m_max, value);
    }

    double Mean()
    {
        Advance();
        const double span = (m_last - m_from).GetSeconds();
        return span > 0 ? m_sum / span : m_value;
    }

    double Max() const
    {
        return m_max;
    }

  private:
    void Advance()
    {
        const Time now = Simulator::Now();
        m_sum += m_value * (now - m_last).GetSeconds();
        m_last = now;
    }

    Time m_from, m_last;
    double m_value = 0, m_sum = 0, m_max = 0;
};

// CSV of every change: time in s, flow (or "link"), what, value.
class Series
{
  public:
    void Open(const std::string& path)
    {
        if (!path.empty())
        {
            m_file = std::fopen(path.c_str(), "w");
            NS_ABORT_MSG_IF(!m_file, "cannot write " << path);
            std::fprintf(m_file, "time,flow,what,value\n");
        }
    }

    void Row(const std::string& flow, const char* what, double value)
    {
        if (m_file)
        {
            std::fprintf(m_file, "%.9f,%s,%s,%.10g\n", Simulator::Now().GetSeconds(), flow.c_str(), what, value);
        }
    }

    void Close()
    {
        if (m_file)
        {
            NS_ABORT_MSG_IF(std::fclose(m_file) != 0, "the series could not be written");
        }
    }

  private:
    std::FILE* m_file = nullptr;
};

Series g_series;

// One bulk sender. It keeps a short reserve of unsent data in the socket's buffer, so the buffer never limits and memory is not wasted on it.
class Flow
{
  public:
    Flow(uint32_t index, const Options& options)
        : m_name(std::to_string(index)),
          m_mss(options.mss),
          m_observe(!options.light)
    {
    }

    void Start(Ptr<Node> node, Address peer, TypeId cc)
    {
        m_started = Simulator::Now();
        m_socket = node->GetObject<TcpL4Protocol>()->CreateSocket(cc);
        if (m_observe)
        {
            Observe();
        }
        m_socket->SetConnectCallback(MakeCallback(&Flow::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
        m_socket->SetDataSentCallback(MakeCallback(&Flow::Sent, this));
        m_socket->Bind();
        m_socket->Connect(peer);
    }

    void Deliver(uint64_t bytes)
    {
        m_delivered += bytes;
    }

    void Finish()
    {
        m_meanCwnd = m_connected ? m_cwnd.Mean() / m_mss : 0;
        m_meanRtt = m_rttSeen ? m_rtt.Mean() : 0;
    }

    std::string m_name;
    Time m_started;
    uint64_t m_delivered = 0;
    uint64_t m_segmentsSent = 0;
    uint64_t m_retransmitted = 0;
    uint64_t m_timeouts = 0;
    uint64_t m_recoveries = 0;
    double m_meanCwnd = 0;
    double m_meanRtt = 0;

  private:
    static constexpr uint32_t RESERVE_SEGMENTS = 64;

    void Connected(Ptr<Socket>)
    {
        m_connected = true;
        TopUp();
    }

    void Sent(Ptr<Socket>, uint32_t bytes)
    {
        m_unsent -= bytes;
        if (m_unsent < RESERVE_SEGMENTS / 2 * m_mss)
        {
            TopUp();
        }
    }

    void TopUp()
    {
        while (m_unsent < RESERVE_SEGMENTS * int64_t(m_mss))
        {
            m_unsent += m_mss; // before Send: it may transmit at once
            if (m_socket->Send(Create<Packet>(m_mss)) < 0)
            {
                m_unsent -= m_mss;
                return;
            }
        }
    }

    void Observe()
    {
        m_socket->TraceConnectWithoutContext("Tx", MakeCallback(&Flow::OnTx, this));
        m_socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Flow::OnCwnd, this));
        m_socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Flow::OnSsthresh, this));
        m_socket->TraceConnectWithoutContext("CongState", MakeCallback(&Flow::OnState, this));
        m_socket->TraceConnectWithoutContext("RTO", MakeCallback(&Flow::OnRto, this));
        m_socket->TraceConnectWithoutContext("RTT", MakeCallback(&Flow::OnRtt, this));
    }

    void OnTx(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        ++m_segmentsSent;
        const SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
        if (m_segmentsSent > 1 && end <= m_highest)
        {
            ++m_retransmitted;
            g_series.Row(m_name, "retransmit", m_retransmitted);
        }
        else
        {
            m_highest = end;
        }
    }

    void OnCwnd(uint32_t, uint32_t now)
    {
        if (!m_cwndSeen)
        {
            m_cwndSeen = true;
            m_cwnd.Begin(now);
        }
        m_cwnd.Set(now);
        g_series.Row(m_name, "cwnd", double(now) / m_mss);
    }

    void OnSsthresh(uint32_t, uint32_t now)
    {
        g_series.Row(m_name, "ssthresh", double(now) / m_mss);
    }

    void OnState(TcpSocketState::TcpCongState_t was, TcpSocketState::TcpCongState_t now)
    {
        if (was != now)
        {
            m_recoveries += now == TcpSocketState::CA_RECOVERY;
            g_series.Row(m_name, "state", now);
        }
    }

    // ns-3 traces its smoothed RTT under this name.
    void OnRtt(Time, Time now)
    {
        if (!m_rttSeen)
        {
            m_rttSeen = true;
            m_rtt.Begin(now.GetSeconds());
        }
        m_rtt.Set(now.GetSeconds());
    }

    // A timeout is the only event that doubles the timer (up to its ceiling of 60 s).
    void OnRto(Time was, Time now)
    {
        if (m_connected && was.IsStrictlyPositive() && now == std::min(was + was, Seconds(60)) && now > was)
        {
            ++m_timeouts;
            g_series.Row(m_name, "timeout", m_timeouts);
        }
    }

    uint32_t m_mss;
    bool m_observe;
    bool m_connected = false;
    bool m_cwndSeen = false;
    bool m_rttSeen = false;
    int64_t m_unsent = 0;
    SequenceNumber32 m_highest{0};
    Ptr<Socket> m_socket;
    TimeAverage m_cwnd;
    TimeAverage m_rtt;
};

// The listening side: hands every in-order byte to the flow that it belongs to (one port per flow).
class Receiver
{
  public:
    Receiver(Ptr<Node> node, uint16_t port, Flow& flow)
        : m_flow(flow)
    {
        m_listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                      MakeCallback(&Receiver::Accepted, this));
    }

  private:
    void Accepted(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&Receiver::Readable, this));
        m_connections.push_back(socket);
    }

    void Readable(Ptr<Socket> socket)
    {
        while (Ptr<Packet> data = socket->Recv())
        {
            if (data->GetSize() == 0)
            {
                return;
            }
            m_flow.Deliver(data->GetSize());
        }
    }

    Flow& m_flow;
    Ptr<Socket> m_listener;
    std::vector<Ptr<Socket>> m_connections;
};

// Counts at the bottleneck device. A data packet is one larger than half an MSS; the rest is SYN and pure ACKs.
class Bottleneck
{
  public:
    // `queue` is the device's queue, or the disc in its place: their traces have the same names.
    void Observe(Ptr<PointToPointNetDevice> device, Ptr<Object> queue, const Options& options)
    {
        m_threshold = options.mss / 2;
        m_extra = options.overhead - PPP_BYTES;
        m_waiting.Begin(0);
        m_present.Begin(0);
        queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Bottleneck::OnWaiting, this));
        if (DynamicCast<QueueDisc>(queue))
        {
            queue->TraceConnectWithoutContext("Drop", MakeCallback(&Bottleneck::OnDiscDrop, this));
        }
        else
        {
            queue->TraceConnectWithoutContext("Drop", MakeCallback(&Bottleneck::OnDrop, this));
        }
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Bottleneck::OnBegin, this));
        device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Bottleneck::OnEnd, this));
    }

    uint64_t m_dataPackets = 0;
    uint64_t m_wireBytes = 0;
    uint64_t m_drops = 0;
    TimeAverage m_waiting;
    TimeAverage m_present;

  private:
    void OnWaiting(uint32_t, uint32_t now)
    {
        m_count = now;
        m_waiting.Set(now);
        m_present.Set(now + m_inService);
        g_series.Row("link", "queue", now);
    }

    void OnBegin(Ptr<const Packet>)
    {
        m_inService = 1;
        m_present.Set(m_count + 1);
    }

    void OnEnd(Ptr<const Packet> packet)
    {
        m_inService = 0;
        m_present.Set(m_count);
        m_dataPackets += packet->GetSize() > m_threshold;
        m_wireBytes += packet->GetSize() + m_extra;
    }

    void OnDrop(Ptr<const Packet>)
    {
        ++m_drops;
        g_series.Row("link", "drop", m_drops);
    }

    void OnDiscDrop(Ptr<const QueueDiscItem>)
    {
        ++m_drops;
        g_series.Row("link", "drop", m_drops);
    }

    uint32_t m_threshold = 0, m_extra = 0, m_count = 0, m_inService = 0;
};

TypeId
CongestionControl(const std::string& name)
{
    if (name == "newreno")
    {
        return TcpNewReno::GetTypeId();
    }
    if (name == "linuxreno")
    {
        return TcpLinuxReno::GetTypeId();
    }
    TypeId id; // any other name is a class of the ns3 namespace: TcpCubic, TcpBic, ...
    NS_ABORT_MSG_UNLESS(TypeId::LookupByNameFailSafe("ns3::" + name, &id), "unknown --cc " << name);
    return id;
}

void
SetTcpDefaults(const Options& o)
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.iw));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(o.delack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(o.delackMs)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(UNLIMITED_BUFFER));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(UNLIMITED_BUFFER));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(o.sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(o.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(o.limitedTransmit));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(o.minRtoMs)));
    NS_ABORT_MSG_UNLESS(o.recovery == "prr" || o.recovery == "classic", "--recovery is prr or classic");
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(o.recovery == "prr" ? TcpPrrRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId()));
}

// Two devices and their channel. A channel has one delay for both directions, so each gets half of what the two gaps add to the RTT.
NetDeviceContainer
Connect(Ptr<Node> left, Ptr<Node> right, uint64_t rate, uint64_t reverseRate, Time delay, uint32_t extraBytes, uint32_t queuePackets)
{
    PointToPointHelper helper;
    helper.DisableFlowControl();
    const Time gap = DataRate(rate).CalculateBytesTxTime(extraBytes);
    const Time reverseGap = DataRate(reverseRate).CalculateBytesTxTime(extraBytes);
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    helper.SetDeviceAttribute("InterframeGap", TimeValue(gap));
    helper.SetChannelAttribute("Delay", TimeValue(delay + (gap + reverseGap) / 2));
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queuePackets)));
    NetDeviceContainer devices = helper.Install(left, right);
    Ptr<PointToPointNetDevice> back = DynamicCast<PointToPointNetDevice>(devices.Get(1));
    back->SetDataRate(DataRate(reverseRate));
    back->SetInterframeGap(reverseGap);
    back->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, 1'000'000));
    return devices;
}

void
PrintList(const char* key, const std::vector<Flow*>& flows, double (*value)(const Flow&))
{
    std::printf(", \"%s\": [", key);
    for (std::size_t i = 0; i < flows.size(); ++i)
    {
        std::printf("%s%.10g", i ? ", " : "", value(*flows[i]));
    }
    std::printf("]");
}

// Peak resident set of this process image in kB (unlike ru_maxrss, not inherited from the process that started it).
long
PeakRssKb()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
    {
        if (word == "VmHWM:")
        {
            long kb = 0;
            status >> kb;
            return kb;
        }
    }
    return 0;
}

double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

} // namespace

int
main(int argc, char* argv[])
{
    Options o;
    CommandLine cmd(__FILE__);
    cmd.AddValue("flows", "number of bulk flows", o.flows);
    cmd.AddValue("rate-bps", "bottleneck rate in bit/s, counted on wire bytes", o.rateBps);
    cmd.AddValue("rtt-ms", "sum of all propagation delays, both ways", o.rttMs);
    cmd.AddValue("queue-packets", "bottleneck queue limit in packets", o.queuePackets);
    cmd.AddValue("queue-counts-service", "1: the packet in transmission counts against the limit", o.queueCountsService);
    cmd.AddValue("duration", "seconds to simulate", o.duration);
    cmd.AddValue("mss", "payload bytes of a full segment", o.mss);
    cmd.AddValue("overhead", "link bytes per packet, at least 2", o.overhead);
    cmd.AddValue("cc", "newreno, linuxreno or an ns-3 class name; a comma list gives one per flow (the last repeats)", o.cc);
    cmd.AddValue("recovery", "prr or classic", o.recovery);
    cmd.AddValue("sack", "0 or 1", o.sack);
    cmd.AddValue("timestamps", "0 or 1", o.timestamps);
    cmd.AddValue("limited-transmit", "0 or 1", o.limitedTransmit);
    cmd.AddValue("iw", "initial window in segments", o.iw);
    cmd.AddValue("delack", "segments per ACK", o.delack);
    cmd.AddValue("delack-ms", "delayed-ACK timer", o.delackMs);
    cmd.AddValue("min-rto-ms", "smallest retransmission timeout", o.minRtoMs);
    cmd.AddValue("start", "comma list of start times in s; the last repeats", o.start);
    cmd.AddValue("start-step-ms", "added to flow i's start: i times this", o.startStepMs);
    cmd.AddValue("access-rate-bps", "0: no access links", o.accessRateBps);
    cmd.AddValue("reverse-rate-bps", "rate of the ACK path; 0: never the limit", o.reverseRateBps);
    cmd.AddValue("drops", "comma list: n-th data packets (1-based) lost at the exit of the bottleneck; one flow only", o.drops);
    cmd.AddValue("disc", "a queue disc in the place of the bottleneck's queue: class without ns3::, then attributes, after commas", o.disc);
    cmd.AddValue("run", "number of the run for what the disc draws", o.run);
    cmd.AddValue("series", "CSV file for every change of cwnd, ssthresh, state and queue", o.series);
    cmd.AddValue("light", "1: no counters at the bottleneck and in the flows (for timing)", o.light);
    cmd.AddValue("startup-only", "1: build everything, simulate nothing (for timing)", o.startupOnly);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(o.overhead < PPP_BYTES, "--overhead must be at least 2");
    NS_ABORT_MSG_IF(o.light && !o.series.empty(), "--light and --series exclude each other");
    NS_ABORT_MSG_IF(!o.drops.empty() && o.flows != 1, "--drops needs exactly one flow");

    RngSeedManager::SetRun(o.run);
    SetTcpDefaults(o);
    g_series.Open(o.series);

    const Time half = NanoSeconds(uint64_t(o.rttMs * 1e6 / 2));
    const uint32_t extra = o.overhead - PPP_BYTES;
    const uint64_t reverseRate = o.reverseRateBps ? o.reverseRateBps : NO_LIMIT_RATE;
    // An arriving packet passes through the queue even if the device is idle, so the limit is at least 1.
    const uint32_t limit = std::max<uint32_t>(1, o.queuePackets - (o.queueCountsService ? 1 : 0));

    NodeContainer nodes;
    nodes.Create(2);
    NodeContainer leaves[2];
    if (o.accessRateBps)
    {
        leaves[0].Create(o.flows);
        leaves[1].Create(o.flows);
    }
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    NetDeviceContainer bottleneck = Connect(nodes.Get(0), nodes.Get(1), o.rateBps, reverseRate, half, extra, limit);
    Ipv4InterfaceContainer core = addresses.Assign(bottleneck);
    std::vector<Ipv4Address> sinkAddress(o.flows, core.GetAddress(1));
    for (uint32_t side = 0; side < 2; ++side)
    {
        for (uint32_t i = 0; i < leaves[side].GetN(); ++i)
        {
            addresses.NewNetwork();
            NetDeviceContainer access = Connect(leaves[side].Get(i), nodes.Get(side), o.accessRateBps, o.accessRateBps, Time(0), extra, 1'000'000);
            Ipv4InterfaceContainer ends = addresses.Assign(access);
            if (side == 1)
            {
                sinkAddress[i] = ends.GetAddress(0);
            }
        }
    }
    if (o.accessRateBps)
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }
    for (uint32_t i = 0; i < NodeList::GetNNodes(); ++i)
    {
        Ptr<TrafficControlLayer> control = NodeList::GetNode(i)->GetObject<TrafficControlLayer>();
        for (uint32_t d = 0; d < NodeList::GetNode(i)->GetNDevices(); ++d)
        {
            NS_ABORT_MSG_IF(control && control->GetRootQueueDiscOnDevice(NodeList::GetNode(i)->GetDevice(d)), "a queue disc is installed");
        }
    }

    Ptr<PointToPointNetDevice> sending = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0));
    Ptr<peers::DiscQueue> disc;
    if (!o.disc.empty())
    {
        disc = CreateObject<peers::DiscQueue>(Split(o.disc), o.rateBps);
        sending->SetQueue(disc);
    }
    Bottleneck link;
    if (!o.light)
    {
        link.Observe(sending, disc ? Ptr<Object>(disc->m_disc) : Ptr<Object>(sending->GetQueue()), o);
    }
    if (!o.drops.empty())
    {
        std::list<uint32_t> arrivals;
        for (const std::string& nth : Split(o.drops))
        {
            arrivals.push_back(std::stoul(nth) + 1); // the device counts from 0, and the SYN and the handshake's ACK come first
        }
        Ptr<ReceiveListErrorModel> errors = CreateObject<ReceiveListErrorModel>();
        errors->SetList(arrivals);
        bottleneck.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    }

    const std::vector<std::string> starts = Split(o.start);
    const std::vector<std::string> names = Split(o.cc);
    NS_ABORT_MSG_IF(starts.empty() || names.empty(), "--start and --cc need a value");
    std::vector<Flow*> flows;
    std::vector<Receiver*> receivers;
    for (uint32_t i = 0; i < o.flows; ++i)
    {
        const bool own = o.accessRateBps != 0;
        const uint16_t port = 5000 + i;
        const double start = std::stod(starts[std::min<std::size_t>(i, starts.size() - 1)]) + i * o.startStepMs * 1e-3;
        flows.push_back(new Flow(i, o));
        receivers.push_back(new Receiver(own ? leaves[1].Get(i) : nodes.Get(1), port, *flows[i]));
        Simulator::Schedule(Seconds(start),
                            &Flow::Start,
                            flows[i],
                            own ? leaves[0].Get(i) : nodes.Get(0),
                            InetSocketAddress(sinkAddress[i], port),
                            CongestionControl(names[std::min<std::size_t>(i, names.size() - 1)]));
    }

    Simulator::Stop(o.startupOnly ? NanoSeconds(1) : Seconds(o.duration));
    const double cpuBefore = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - cpuBefore;

    std::printf("{\"program\": \"ns-3\", \"version\": \"" PEER_VERSION "\", \"duration_s\": %.10g, \"cpu_run_s\": %.6f, \"peak_rss_kb\": %ld", o.duration, cpu, PeakRssKb());
    if (!o.light)
    {
        for (Flow* flow : flows)
        {
            flow->Finish();
        }
        std::printf(", \"data_packets_served\": %" PRIu64 ", \"drops\": %" PRIu64 ", \"utilisation\": %.8f, \"mean_queue_waiting\": %.6f"
                    ", \"max_queue_waiting\": %.0f, \"mean_queue_with_service\": %.6f, \"max_queue_with_service\": %.0f",
                    link.m_dataPackets,
                    link.m_drops,
                    link.m_wireBytes * 8.0 / (double(o.rateBps) * o.duration),
                    link.m_waiting.Mean(),
                    link.m_waiting.Max(),
                    link.m_present.Mean(),
                    link.m_present.Max());
        if (disc)
        {
            std::printf(", \"mean_wait_s\": %.9f, \"p95_wait_s\": %.9f", disc->MeanWait(), disc->Wait95());
        }
    }
    static double end;
    end = o.duration;
    PrintList("goodput_bps", flows, [](const Flow& f) {
        const double active = end - f.m_started.GetSeconds();
        return active > 0 ? f.m_delivered * 8.0 / active : 0.0;
    });
    PrintList("delivered_bytes", flows, [](const Flow& f) { return double(f.m_delivered); });
    if (!o.light)
    {
        PrintList("segments_sent", flows, [](const Flow& f) { return double(f.m_segmentsSent); });
        PrintList("retransmitted", flows, [](const Flow& f) { return double(f.m_retransmitted); });
        PrintList("timeouts", flows, [](const Flow& f) { return double(f.m_timeouts); });
        PrintList("recoveries", flows, [](const Flow& f) { return double(f.m_recoveries); });
        PrintList("mean_cwnd_segments", flows, [](const Flow& f) { return f.m_meanCwnd; });
        PrintList("mean_srtt_s", flows, [](const Flow& f) { return f.m_meanRtt; });
    }
    std::printf("}\n");
    std::fflush(stdout);
    g_series.Close();
    std::_Exit(0); // tearing the simulation down costs time and is not what is measured
}
