// Users of one LENA cell (ns-3's LTE with its EPC) at given distances, on ns-3 through its public API; one JSON line on stdout.
//
//   server --[10 Gbit/s, rtt/2 each way]-- PGW -- SGW --[S1-U]-- base station --(air)-- users
//
// What they do: load pages that a file lists (--pages), or receive datagrams faster than the cell can send (--saturate).
//
// Pages: a line per page, `user,gap,main,embedded,...`. Gap: seconds from the begin of the user's page before (of its first page: from the begin
// of the measurement); if that page is not done by then the next begins when it is. A page is loaded as ackclock's web client does it: a
// connection, a request of 800 bytes, the main object; then as many connections as there are objects for, up to --connections, each with one
// object at a time from one queue; all of them are closed at the end. The first four bytes of a request say how large the answer is to be.
//
// Resource blocks: ns-3 does not trace them, so that they follow from scheme and size of a block by ns-3's own table.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lte-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/propagation-module.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>

using namespace ns3;

namespace
{

constexpr uint32_t REQUEST_BYTES = 800;
constexpr uint16_t WEB_PORT = 80;
constexpr uint16_t DATAGRAM_PORT = 9;
constexpr uint32_t DATAGRAM_BYTES = 1400;
// ns-3's sockets send what they are given a nanosecond later, but SYNs at once: those of connections that are opened after a request would overtake it.
constexpr uint64_t AFTER_A_REQUEST_NS = 2;
constexpr double ATTACHED_S = 1; // by then all users are connected; all times in the output count from here

struct Options
{
    std::string distances = "100";
    std::string pages;
    bool saturate = false;
    double duration = 10;
    double rttMs = 10;
    std::string rlc = "um";
    uint32_t rlcBuffer = 1'000'000'000;
    double reorderingMs = 0;
    double power = 30;
    double uePower = 40;
    uint32_t rbs = 100;
    std::string scheduler = "PfFfMacScheduler";
    bool controlErrors = true;
    bool harq = true;
    std::string cc = "TcpNewReno";
    uint32_t connections = 1;
    uint32_t mss = 1400;
    uint32_t iw = 10;
    double minRtoMs = 1000;
    uint32_t seed = 1;
    std::string blocks;
};

std::vector<std::string>
Split(const std::string& text)
{
    std::vector<std::string> parts;
    std::stringstream in(text);
    for (std::string part; std::getline(in, part, ',');)
    {
        parts.push_back(part);
    }
    return parts;
}

double
Clock()
{
    return Simulator::Now().GetSeconds() - ATTACHED_S;
}

bool
Measuring()
{
    return Clock() >= 0;
}

struct Page
{
    double gap;
    std::vector<uint32_t> sizes;
};

// What happened to a page; negative: did not happen.
struct Load
{
    uint32_t user;
    uint32_t page;
    double start;
    double connected = -1;
    double firstByte = -1;
    double mainDone = -1;
    double end = -1;
};

// What is counted of one user.
struct Counters
{
    double sinr = 0;
    uint64_t sinrs = 0;
    double upSinr = 0;
    uint64_t upSinrs = 0;
    double upPower = 0;
    uint64_t upPowers = 0;
    std::map<uint32_t, uint64_t> schemes;
    uint64_t blocks = 0;
    uint64_t retransmissions = 0;
    uint64_t rbs = 0;
    uint64_t blockBytes = 0;
    uint64_t rlcPdus = 0;
    uint64_t rlcBytes = 0;
    uint64_t rlcDrops = 0;
    uint64_t status = 0;
    uint64_t received = 0;
    uint64_t failed = 0;
    uint64_t upBlocks = 0;
    uint64_t upRetransmissions = 0;
    uint64_t upBytes = 0;
    uint64_t upRlcBytes = 0;
    uint64_t datagramBytes = 0;
};

// The answering side of one connection.
class Answering : public SimpleRefCount<Answering>
{
  public:
    explicit Answering(Ptr<Socket> socket)
        : m_socket(socket)
    {
        socket->SetRecvCallback(MakeCallback(&Answering::Readable, this));
        socket->SetCloseCallbacks(MakeCallback(&Answering::Closed, this), MakeCallback(&Answering::Closed, this));
    }

  private:
    void Readable(Ptr<Socket> socket)
    {
        while (Ptr<Packet> data = socket->Recv())
        {
            if (data->GetSize() == 0)
            {
                break;
            }
            std::vector<uint8_t> bytes(data->GetSize());
            data->CopyData(bytes.data(), bytes.size());
            m_read.insert(m_read.end(), bytes.begin(), bytes.end());
        }
        while (m_read.size() >= REQUEST_BYTES)
        {
            const uint32_t size = m_read[0] | m_read[1] << 8 | m_read[2] << 16 | uint32_t(m_read[3]) << 24;
            m_read.erase(m_read.begin(), m_read.begin() + REQUEST_BYTES);
            NS_ABORT_MSG_IF(socket->Send(Create<Packet>(size)) < int(size), "an answer does not fit into the send buffer");
        }
    }

    void Closed(Ptr<Socket> socket)
    {
        socket->Close();
    }

    Ptr<Socket> m_socket;
    std::deque<uint8_t> m_read;
};

// The server: every connection that is accepted.
class WebServer
{
  public:
    explicit WebServer(Ptr<Node> node)
    {
        m_listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), WEB_PORT));
        m_listener->Listen();
        m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&WebServer::Accepted, this));
    }

    uint64_t m_retransmitted = 0;
    uint64_t m_segments = 0;

  private:
    void Accepted(Ptr<Socket> socket, const Address&)
    {
        // One observer per connection: what was sent before is sent again.
        auto highest = std::make_shared<uint32_t>(0);
        socket->TraceConnectWithoutContext("Tx", Callback<void, Ptr<const Packet>, const TcpHeader&, Ptr<const TcpSocketBase>>(
                                                     [this, highest](Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>) {
                                                         if (packet->GetSize() == 0 || !Measuring())
                                                         {
                                                             return;
                                                         }
                                                         ++m_segments;
                                                         const uint32_t end = header.GetSequenceNumber().GetValue() + packet->GetSize();
                                                         m_retransmitted += end <= *highest;
                                                         *highest = std::max(*highest, end);
                                                     }));
        m_connections.push_back(Create<Answering>(socket));
    }

    Ptr<Socket> m_listener;
    std::vector<Ptr<Answering>> m_connections;
};

// One user: its pages, one after the other.
class Client
{
  public:
    Client(uint32_t user, Ptr<Node> node, Ipv4Address server, const std::vector<Page>& pages, const Options& options)
        : m_user(user),
          m_node(node),
          m_server(server),
          m_pages(pages),
          m_most(options.connections)
    {
        if (!m_pages.empty())
        {
            Simulator::Schedule(Seconds(ATTACHED_S + m_pages[0].gap), &Client::Begin, this);
        }
    }

    std::vector<Load> m_loads;

  private:
    struct Connection
    {
        Ptr<Socket> socket;
        uint32_t left = 0; // of the object under way
        bool busy = false;
        bool first = false;
    };

    void Begin()
    {
        const uint32_t index = m_loads.size();
        m_due = index + 1 < m_pages.size() ? Clock() + m_pages[index + 1].gap : -1;
        m_loads.push_back(Load{m_user, index, Clock()});
        const std::vector<uint32_t>& sizes = m_pages[index].sizes;
        m_waiting.assign(sizes.begin(), sizes.begin() + 1);
        m_missing = sizes.size();
        m_mainDone = false;
        m_connections.clear();
        Open();
    }

    void Open()
    {
        auto connection = std::make_shared<Connection>();
        connection->first = m_connections.empty();
        connection->socket = Socket::CreateSocket(m_node, TcpSocketFactory::GetTypeId());
        m_connections.push_back(connection);
        const uint32_t page = m_loads.size() - 1;
        connection->socket->Bind();
        connection->socket->SetConnectCallback(Callback<void, Ptr<Socket>>([this, connection, page](Ptr<Socket>) {
                                                   if (page == m_loads.size() - 1)
                                                   {
                                                       if (connection->first)
                                                       {
                                                           m_loads.back().connected = Clock();
                                                       }
                                                       Request(connection);
                                                   }
                                               }),
                                               MakeNullCallback<void, Ptr<Socket>>());
        connection->socket->SetRecvCallback(Callback<void, Ptr<Socket>>([this, connection](Ptr<Socket>) { Readable(connection); }));
        connection->socket->Connect(InetSocketAddress(m_server, WEB_PORT));
    }

    void Request(const std::shared_ptr<Connection>& connection)
    {
        if (connection->busy || m_waiting.empty())
        {
            return;
        }
        const uint32_t size = m_waiting.front();
        m_waiting.pop_front();
        std::vector<uint8_t> bytes(REQUEST_BYTES, 0);
        for (uint32_t i = 0; i < 4; ++i)
        {
            bytes[i] = size >> (8 * i);
        }
        connection->left = size;
        connection->busy = true;
        connection->socket->Send(Create<Packet>(bytes.data(), bytes.size()));
    }

    void Readable(const std::shared_ptr<Connection>& connection)
    {
        Load& load = m_loads.back();
        while (Ptr<Packet> data = connection->socket->Recv())
        {
            if (data->GetSize() == 0)
            {
                break;
            }
            if (load.firstByte < 0)
            {
                load.firstByte = Clock();
            }
            NS_ABORT_MSG_IF(data->GetSize() > connection->left, "more came than was asked for");
            connection->left -= data->GetSize();
            if (connection->left == 0)
            {
                connection->busy = false;
                ObjectDone(connection);
            }
        }
    }

    void ObjectDone(const std::shared_ptr<Connection>& connection)
    {
        const std::vector<uint32_t>& sizes = m_pages[m_loads.size() - 1].sizes;
        if (--m_missing == 0)
        {
            PageDone();
            return;
        }
        if (!m_mainDone)
        {
            m_mainDone = true;
            m_loads.back().mainDone = Clock();
            m_waiting.assign(sizes.begin() + 1, sizes.end());
            Request(connection);
            Simulator::Schedule(NanoSeconds(AFTER_A_REQUEST_NS), &Client::OpenFurther, this);
            return;
        }
        Request(connection);
    }

    void OpenFurther()
    {
        for (std::size_t wanted = m_waiting.size(); wanted > 0 && m_connections.size() < m_most; --wanted)
        {
            Open();
        }
    }

    void PageDone()
    {
        m_loads.back().end = Clock();
        for (const auto& connection : m_connections)
        {
            connection->socket->Close();
        }
        if (m_due >= 0)
        {
            Simulator::Schedule(Seconds(std::max(0.0, m_due - Clock())), &Client::Begin, this);
        }
    }

    uint32_t m_user;
    Ptr<Node> m_node;
    Ipv4Address m_server;
    std::vector<Page> m_pages;
    uint32_t m_most;
    double m_due = -1;
    bool m_mainDone = false;
    std::size_t m_missing = 0;
    std::deque<uint32_t> m_waiting;
    std::vector<std::shared_ptr<Connection>> m_connections;
};

// Datagrams to all users, together faster than the cell can send.
class Flood
{
  public:
    Flood(Ptr<Node> node, const std::vector<Ipv4Address>& users, double rate)
        : m_socket(Socket::CreateSocket(node, UdpSocketFactory::GetTypeId())),
          m_users(users),
          m_gap(Seconds(DATAGRAM_BYTES * 8 / rate))
    {
        m_socket->Bind();
        Simulator::Schedule(Seconds(ATTACHED_S - 0.5), &Flood::Next, this);
    }

  private:
    void Next()
    {
        for (const Ipv4Address& user : m_users)
        {
            m_socket->SendTo(Create<Packet>(DATAGRAM_BYTES), 0, InetSocketAddress(user, DATAGRAM_PORT));
        }
        Simulator::Schedule(m_gap, &Flood::Next, this);
    }

    Ptr<Socket> m_socket;
    std::vector<Ipv4Address> m_users;
    Time m_gap;
};

// Resource blocks of a transport block, by ns-3's table; 0: none of that size.
uint32_t
ResourceBlocks(uint32_t mcs, uint32_t bytes, uint32_t most)
{
    static std::map<std::pair<uint32_t, uint32_t>, uint32_t> known;
    static Ptr<LteAmc> amc = CreateObject<LteAmc>();
    const auto key = std::make_pair(mcs, bytes);
    if (const auto found = known.find(key); found != known.end())
    {
        return found->second;
    }
    uint32_t rbs = most;
    while (rbs > 0 && uint32_t(amc->GetDlTbSizeFromMcs(mcs, rbs) / 8) != bytes)
    {
        --rbs;
    }
    return known[key] = rbs;
}

std::vector<std::vector<Page>>
ReadPages(const std::string& path, std::size_t users)
{
    std::vector<std::vector<Page>> pages(users);
    std::ifstream file(path);
    NS_ABORT_MSG_UNLESS(file, "cannot read " << path);
    for (std::string line; std::getline(file, line);)
    {
        if (line.empty() || line[0] == '#')
        {
            continue;
        }
        const std::vector<std::string> parts = Split(line);
        NS_ABORT_MSG_IF(parts.size() < 3, "a page is user,gap,main,embedded,... and not " << line);
        const std::size_t user = std::stoul(parts[0]);
        NS_ABORT_MSG_IF(user >= users, "there is no user " << user);
        Page page{std::stod(parts[1]), {}};
        for (std::size_t i = 2; i < parts.size(); ++i)
        {
            page.sizes.push_back(std::stoul(parts[i]));
        }
        pages[user].push_back(page);
    }
    return pages;
}

double
CpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

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
Decibel(double sum, uint64_t count)
{
    return count ? 10 * std::log10(sum / double(count)) : NAN;
}

void
PrintNumber(double value)
{
    if (std::isfinite(value))
    {
        std::printf("%.10g", value);
    }
    else
    {
        std::printf("null");
    }
}

void
PrintTime(double value)
{
    PrintNumber(value < 0 ? NAN : value);
}

void
SetDefaults(const Options& o)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + o.cc));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(o.iw));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(6'000'000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6'000'000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(o.minRtoMs)));
    NS_ABORT_MSG_UNLESS(o.rlc == "um" || o.rlc == "am", "--rlc is um or am");
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping",
                       EnumValue(o.rlc == "um" ? LteEnbRrc::RLC_UM_ALWAYS : LteEnbRrc::RLC_AM_ALWAYS));
    Config::SetDefault("ns3::LteRlcUm::MaxTxBufferSize", UintegerValue(o.rlcBuffer));
    Config::SetDefault("ns3::LteRlcAm::MaxTxBufferSize", UintegerValue(o.rlcBuffer));
    if (o.reorderingMs > 0)
    {
        Config::SetDefault(o.rlc == "um" ? "ns3::LteRlcUm::ReorderingTimer" : "ns3::LteRlcAm::ReorderingTimer",
                           TimeValue(MilliSeconds(o.reorderingMs)));
    }
    Config::SetDefault("ns3::LteEnbPhy::TxPower", DoubleValue(o.power));
    Config::SetDefault("ns3::LteUePhy::TxPower", DoubleValue(o.uePower));
    Config::SetDefault("ns3::LteUePowerControl::Pcmax", DoubleValue(o.uePower));
    Config::SetDefault("ns3::LteSpectrumPhy::CtrlErrorModelEnabled", BooleanValue(o.controlErrors));
}

} // namespace

int
main(int argc, char* argv[])
{
    Options o;
    CommandLine cmd(__FILE__);
    cmd.AddValue("distances", "comma list: where each user is, m over ground", o.distances);
    cmd.AddValue("pages", "file of pages; its form is at the head of the source", o.pages);
    cmd.AddValue("saturate", "1: datagrams to every user, together faster than the cell", o.saturate);
    cmd.AddValue("duration", "seconds that are measured", o.duration);
    cmd.AddValue("rtt-ms", "propagation between server and PGW, both ways together", o.rttMs);
    cmd.AddValue("rlc", "um or am", o.rlc);
    cmd.AddValue("rlc-buffer", "bytes of the RLC's buffer", o.rlcBuffer);
    cmd.AddValue("reordering-ms", "t-Reordering; 0: ns-3's own", o.reorderingMs);
    cmd.AddValue("power", "of the base station, dBm", o.power);
    cmd.AddValue("ue-power", "most of a user, dBm", o.uePower);
    cmd.AddValue("rbs", "resource blocks of each band", o.rbs);
    cmd.AddValue("scheduler", "class without ns3::", o.scheduler);
    cmd.AddValue("control-errors", "0: control channels are always decoded", o.controlErrors);
    cmd.AddValue("harq", "0 or 1", o.harq);
    cmd.AddValue("cc", "class without ns3::", o.cc);
    cmd.AddValue("connections", "most of a page", o.connections);
    cmd.AddValue("mss", "payload bytes of a full segment", o.mss);
    cmd.AddValue("iw", "initial window in segments", o.iw);
    cmd.AddValue("min-rto-ms", "smallest retransmission timeout", o.minRtoMs);
    cmd.AddValue("seed", "of ns-3's draws", o.seed);
    cmd.AddValue("blocks", "CSV file for every transport block of the downlink", o.blocks);
    cmd.Parse(argc, argv);
    NS_ABORT_MSG_IF(o.pages.empty() != o.saturate, "either --pages or --saturate=1");

    RngSeedManager::SetSeed(o.seed);
    SetDefaults(o);
    const std::vector<std::string> distances = Split(o.distances);
    const std::size_t users = distances.size();

    Ptr<LteHelper> lte = CreateObject<LteHelper>();
    Ptr<PointToPointEpcHelper> epc = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(epc);
    lte->SetSchedulerType("ns3::" + o.scheduler);
    lte->SetSchedulerAttribute("HarqEnabled", BooleanValue(o.harq));
    lte->SetPathlossModelType(OkumuraHataPropagationLossModel::GetTypeId()); // large city, urban: its defaults
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(o.rbs));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(o.rbs));

    NodeContainer base;
    NodeContainer equipment;
    NodeContainer server;
    base.Create(1);
    equipment.Create(users);
    server.Create(1);
    Ptr<ListPositionAllocator> places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 30));
    for (const std::string& distance : distances)
    {
        places->Add(Vector(std::stod(distance), 0, 1.5));
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(places);
    mobility.Install(base);
    mobility.Install(equipment);

    NetDeviceContainer baseDevice = lte->InstallEnbDevice(base);
    NetDeviceContainer devices = lte->InstallUeDevice(equipment);
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.Install(equipment);
    stack.Install(server);

    PointToPointHelper internet;
    internet.DisableFlowControl();
    internet.SetDeviceAttribute("DataRate", StringValue("10Gb/s"));
    internet.SetDeviceAttribute("Mtu", UintegerValue(1500));
    internet.SetChannelAttribute("Delay", TimeValue(NanoSeconds(uint64_t(o.rttMs * 1e6 / 2))));
    internet.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
    NetDeviceContainer link = internet.Install(epc->GetPgwNode(), server.Get(0));
    Ipv4AddressHelper addresses("1.0.0.0", "255.0.0.0");
    Ipv4InterfaceContainer ends = addresses.Assign(link);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())->AddNetworkRouteTo(Ipv4Address("7.0.0.0"), Ipv4Mask("255.0.0.0"), 1);

    Ipv4InterfaceContainer userAddresses = epc->AssignUeIpv4Address(devices);
    std::vector<Ipv4Address> to;
    for (std::size_t i = 0; i < users; ++i)
    {
        to.push_back(userAddresses.GetAddress(i));
        routing.GetStaticRouting(equipment.Get(i)->GetObject<Ipv4>())->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
    }
    lte->Attach(devices, baseDevice.Get(0));

    std::vector<Counters> counters(users);
    std::map<uint16_t, std::size_t> byRnti;
    uint64_t ttis = 0; // with a block
    uint64_t lastTti = 0;
    std::FILE* blocks = o.blocks.empty() ? nullptr : std::fopen(o.blocks.c_str(), "w");
    Ptr<LteEnbNetDevice> station = DynamicCast<LteEnbNetDevice>(baseDevice.Get(0));
    const auto of = [&](uint16_t rnti) -> Counters* {
        const auto found = byRnti.find(rnti);
        return found == byRnti.end() || !Measuring() ? nullptr : &counters[found->second];
    };

    station->GetPhy()->TraceConnectWithoutContext(
        "DlPhyTransmission",
        Callback<void, PhyTransmissionStatParameters>([&](PhyTransmissionStatParameters block) {
            Counters* user = of(block.m_rnti);
            if (!user)
            {
                return;
            }
            const uint32_t rbs = ResourceBlocks(block.m_mcs, block.m_size, o.rbs);
            ++user->blocks;
            user->retransmissions += block.m_ndi == 0;
            user->rbs += rbs;
            user->blockBytes += block.m_ndi ? block.m_size : 0;
            ++user->schemes[block.m_mcs];
            ttis += uint64_t(block.m_timestamp) != lastTti;
            lastTti = block.m_timestamp;
            if (blocks)
            {
                std::fprintf(blocks, "%.3f,%zu,%u,%u,%u,%u\n", Clock(), byRnti[block.m_rnti], block.m_mcs, block.m_size, rbs, block.m_ndi);
            }
        }));
    station->GetPhy()->TraceConnectWithoutContext("ReportUeSinr",
                                                  Callback<void, uint16_t, uint16_t, double, uint8_t>([&](uint16_t, uint16_t rnti, double sinr, uint8_t) {
                                                      if (Counters* user = of(rnti))
                                                      {
                                                          user->upSinr += sinr;
                                                          ++user->upSinrs;
                                                      }
                                                  }));
    std::vector<Ptr<LteUeNetDevice>> ues;
    for (std::size_t i = 0; i < users; ++i)
    {
        ues.push_back(DynamicCast<LteUeNetDevice>(devices.Get(i)));
        Counters* user = &counters[i];
        Ptr<LteUePhy> phy = ues[i]->GetPhy();
        phy->TraceConnectWithoutContext("ReportCurrentCellRsrpSinr",
                                        Callback<void, uint16_t, uint16_t, double, double, uint8_t>([user](uint16_t, uint16_t, double, double sinr, uint8_t) {
                                            if (Measuring())
                                            {
                                                user->sinr += sinr;
                                                ++user->sinrs;
                                            }
                                        }));
        phy->GetDlSpectrumPhy()->TraceConnectWithoutContext("DlPhyReception",
                                                            Callback<void, PhyReceptionStatParameters>([user](PhyReceptionStatParameters block) {
                                                                if (Measuring())
                                                                {
                                                                    ++user->received;
                                                                    user->failed += block.m_correctness == 0;
                                                                }
                                                            }));
        phy->TraceConnectWithoutContext("UlPhyTransmission",
                                        Callback<void, PhyTransmissionStatParameters>([user](PhyTransmissionStatParameters block) {
                                            if (Measuring())
                                            {
                                                ++user->upBlocks;
                                                user->upRetransmissions += block.m_ndi == 0;
                                                user->upBytes += block.m_ndi ? block.m_size : 0;
                                            }
                                        }));
        phy->GetUplinkPowerControl()->TraceConnectWithoutContext("ReportPuschTxPower",
                                                                 Callback<void, uint16_t, uint16_t, double>([user](uint16_t, uint16_t, double power) {
                                                                     if (Measuring())
                                                                     {
                                                                         user->upPower += power;
                                                                         ++user->upPowers;
                                                                     }
                                                                 }));
    }
    // Radio bearers are there only when the users have attached.
    Simulator::Schedule(Seconds(ATTACHED_S / 4), [&] {
        for (std::size_t i = 0; i < users; ++i)
        {
            NS_ABORT_MSG_UNLESS(ues[i]->GetRrc()->GetState() == LteUeRrc::CONNECTED_NORMALLY, "user " << i << " is not connected");
            byRnti[ues[i]->GetRrc()->GetRnti()] = i;
        }
        Config::ConnectWithoutContext("/NodeList/*/DeviceList/*/LteEnbRrc/UeMap/*/DataRadioBearerMap/*/LteRlc/TxPDU",
                                      Callback<void, uint16_t, uint8_t, uint32_t>([&](uint16_t rnti, uint8_t, uint32_t bytes) {
                                          if (Counters* user = of(rnti))
                                          {
                                              ++user->rlcPdus;
                                              user->rlcBytes += bytes;
                                              user->status += bytes < 12; // shorter than any packet with its headers
                                          }
                                      }));
        Config::ConnectWithoutContext("/NodeList/*/DeviceList/*/LteEnbRrc/UeMap/*/DataRadioBearerMap/*/LteRlc/TxDrop",
                                      Callback<void, Ptr<const Packet>>([&](Ptr<const Packet>) { counters[0].rlcDrops += Measuring(); }));
        Config::ConnectWithoutContext("/NodeList/*/DeviceList/*/LteUeRrc/DataRadioBearerMap/*/LteRlc/TxPDU",
                                      Callback<void, uint16_t, uint8_t, uint32_t>([&](uint16_t rnti, uint8_t, uint32_t bytes) {
                                          if (Counters* user = of(rnti))
                                          {
                                              user->upRlcBytes += bytes;
                                          }
                                      }));
    });

    std::vector<std::unique_ptr<Client>> clients;
    std::unique_ptr<WebServer> web;
    std::unique_ptr<Flood> flood;
    std::vector<std::vector<Page>> pages;
    if (o.saturate)
    {
        for (std::size_t i = 0; i < users; ++i)
        {
            Ptr<Socket> sink = Socket::CreateSocket(equipment.Get(i), UdpSocketFactory::GetTypeId());
            sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), DATAGRAM_PORT));
            Counters* user = &counters[i];
            sink->SetRecvCallback(Callback<void, Ptr<Socket>>([user](Ptr<Socket> socket) {
                while (Ptr<Packet> data = socket->Recv())
                {
                    user->datagramBytes += Measuring() ? data->GetSize() : 0;
                }
            }));
        }
        flood = std::make_unique<Flood>(server.Get(0), to, 80e6);
    }
    else
    {
        pages = ReadPages(o.pages, users);
        web = std::make_unique<WebServer>(server.Get(0));
        for (std::size_t i = 0; i < users; ++i)
        {
            clients.push_back(std::make_unique<Client>(i, equipment.Get(i), ends.GetAddress(1), pages[i], o));
        }
    }

    Simulator::Stop(Seconds(ATTACHED_S + o.duration));
    const double cpuBefore = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - cpuBefore;
    if (blocks)
    {
        std::fclose(blocks);
    }

    uint64_t rbs = 0;
    for (const Counters& user : counters)
    {
        rbs += user.rbs;
    }
    const double all = o.duration * 1000;
    std::printf("{\"program\": \"ns-3\", \"version\": \"" PEER_VERSION "\", \"duration_s\": %.10g, \"cpu_run_s\": %.6f, \"peak_rss_kb\": %ld, \"rho_rb\": %.6f, \"rho_tti\": %.6f",
                o.duration,
                cpu,
                PeakRssKb(),
                double(rbs) / (all * o.rbs),
                double(ttis) / all);
    if (web)
    {
        std::printf(", \"segments\": %" PRIu64 ", \"retransmitted\": %" PRIu64, web->m_segments, web->m_retransmitted);
    }
    std::printf(", \"rlc_drops\": %" PRIu64 ", \"users\": [", counters[0].rlcDrops);
    for (std::size_t i = 0; i < users; ++i)
    {
        const Counters& user = counters[i];
        std::printf("%s{\"distance_m\": %s, \"sinr_db\": ", i ? ", " : "", distances[i].c_str());
        PrintNumber(Decibel(user.sinr, user.sinrs));
        std::printf(", \"up_sinr_db\": ");
        PrintNumber(Decibel(user.upSinr, user.upSinrs));
        std::printf(", \"up_power_dbm\": ");
        PrintNumber(user.upPowers ? user.upPower / double(user.upPowers) : NAN);
        std::printf(", \"mcs\": {");
        bool more = false;
        for (const auto& [mcs, count] : user.schemes)
        {
            std::printf("%s\"%u\": %" PRIu64, more ? ", " : "", mcs, count);
            more = true;
        }
        std::printf("}, \"blocks\": %" PRIu64 ", \"retransmissions\": %" PRIu64 ", \"rbs\": %" PRIu64 ", \"block_bytes\": %" PRIu64 ", \"rlc_pdus\": %" PRIu64
                    ", \"rlc_bytes\": %" PRIu64 ", \"short_pdus\": %" PRIu64 ", \"blocks_received\": %" PRIu64 ", \"blocks_failed\": %" PRIu64 ", \"up_blocks\": %" PRIu64
                    ", \"up_retransmissions\": %" PRIu64 ", \"up_bytes\": %" PRIu64 ", \"up_rlc_bytes\": %" PRIu64 ", \"goodput_bps\": %.10g}",
                    user.blocks,
                    user.retransmissions,
                    user.rbs,
                    user.blockBytes,
                    user.rlcPdus,
                    user.rlcBytes,
                    user.status,
                    user.received,
                    user.failed,
                    user.upBlocks,
                    user.upRetransmissions,
                    user.upBytes,
                    user.upRlcBytes,
                    double(user.datagramBytes) * 8 / o.duration);
    }
    std::printf("], \"pages\": [");
    bool more = false;
    for (const auto& client : clients)
    {
        for (const Load& load : client->m_loads)
        {
            std::printf("%s[%u, %u, ", more ? ", " : "", load.user, load.page);
            PrintTime(load.start);
            for (const double time : {load.connected, load.firstByte, load.mainDone, load.end})
            {
                std::printf(", ");
                PrintTime(time);
            }
            std::printf("]");
            more = true;
        }
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}
